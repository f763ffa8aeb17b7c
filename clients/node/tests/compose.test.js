// Results as parameters, what a handler submits with its end, and checkpoints: without a server, and with one.
'use strict';

const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { Actor, App, RESULT, turn } = require('ergon-client');
const { immediate, server } = require('ergon-client/testing');

let place;
before(async () => (place = await server()));
after(() => place.close());

function composed(middleware = {}) {
    const app = new App({ url: place.url }).use(middleware);
    const noted = [];
    const upper = app.task('upper', (_, text) => text.toUpperCase());
    const write = app.task('write', (_, letter, copies) => `${letter.to}: ${letter.pages} ${JSON.stringify(copies)}`);
    const note = app.task('note', (_, text) => void noted.push(text));
    const parent = app.task('parent', { retries: 2, backoff: 1 }, async (context, name) => {
        await context.submit(note.order(`${name} 1`), note.with({ delay: 1 }).order(`${name} 2`));
        await context.submit('note', [`${name} 3`], { durable: 'none' });
        await context.tell('till/1', 'take', [5]);
        if (context.attempt < 3) throw new Error('not yet');
        return name;
    });
    const late = app.task('late', async (context) => {
        await context.submit('note', ['never']);
        await context.submit('note', ['never'], { after: ['t1'] }).catch(() => {});
    });
    const unknown = app.task('unknown', (context) => context.submit(note.order('never'), ['gone', [1]]));
    const crawl = app.task('crawl', { retries: 3, backoff: 1 }, async (context) => {
        const seen = context.checkpoint ?? [];
        await context.save([...seen, context.attempt]);
        if (context.attempt < 3) throw new Error('not yet');
        assert.deepStrictEqual(context.checkpoint, [1, 2, 3]);
        await context.save(null);
        return seen;
    });
    class Till extends Actor {
        async take(cents) {
            this.state.sum = (this.state.sum ?? 0) + cents;
            await this.context.submit(note.order('till'));
            return this.state.sum;
        }
    }
    const till = app.actor('till', Till);
    return { app, noted, upper, write, parent, late, unknown, crawl, till };
}

/** Runs use() of a new app, without a server and then with one. `ended()`: all that was noted, when that has ended. */
async function both(use, middleware) {
    const alone = composed(middleware);
    const run = immediate(alone.app);
    await use({ ...alone, ended: async () => alone.noted.sort() });
    await run.close();
    const served = composed(middleware);
    const { app, noted } = served;
    let ready;
    const isReady = new Promise((resolve) => (ready = resolve));
    const work = app.work({ slots: 4, signals: false, onReady: ready });
    await Promise.race([isReady, work]);
    const ended = async () => {
        const ids = [];
        for await (const { id } of app.client.tasks({ method: 'note' })) ids.push(id);
        await app.client.wait(ids);
        return noted.sort();
    };
    try {
        await use({ ...served, ended });
    } finally {
        app.stop();
        await work.finally(() => app.close());
    }
}

test('results are parameters', () => both(async ({ app, upper, write }) => {
    const [ann, ben] = [await upper.submit('ann'), await upper.submit('ben')];
    const letter = await write.submit({ to: ann, pages: ['1', ben.output] }, new Map([['to', ben]]));
    assert.strictEqual(await letter.wait(), 'ANN: 1,BEN {"to":"BEN"}');
    assert.strictEqual(await write.call({ to: 'x', pages: [] }, { to: ann }), 'x:  {"to":"ANN"}');
    const many = await app.client.submitMany([['upper', [ann]], upper.with({ after: ann }).order(ben)], { after: ben });
    assert.deepStrictEqual(await Promise.all(many.map((task) => task.wait())), ['ANN', 'BEN']);
    await assert.rejects(app.chain(upper.order(RESULT)), /RESULT is the result of the order before/);
}));

test('a chain hands its results on', () => both(async ({ app, upper, write }) => {
    const last = await app.chain(upper.order('ann'), write.order({ to: RESULT, pages: [RESULT] }, {}), upper.order(RESULT));
    assert.strictEqual(await last.wait(), 'ANN: ANN {}');
}));

test('what an attempt submits comes with its end', () => both(async ({ parent, till, ended }) => {
    assert.strictEqual(await (await parent.submit('a')).wait(), 'a');
    await till('1').call('take', [1]);
    assert.deepStrictEqual(await ended(), ['a 1', 'a 2', 'a 3', 'till', 'till']);
}));

test('all or nothing', () => both(async ({ late, unknown, ended }) => {
    await assert.rejects((await late.submit()).wait(), { code: 'BAD_CHANGES' });
    await assert.rejects((await unknown.submit()).wait(), { code: 'NO_METHOD' });
    await assert.rejects(unknown.call(), { code: 'BAD_PARAMS' });
    assert.ok(!(await ended()).includes('never'));
}));

const louder = {
    submit: (order, next) => {
        if (order.method === 'note') order.params = [`${order.params[0]}!`];
        return next();
    },
};
test('middleware goes round what an attempt submits', () => both(async ({ parent, till, ended }) => {
    await (await parent.submit('b')).wait();
    assert.strictEqual(await till('2').call('take', [7]), 7);
    assert.deepStrictEqual((await ended()).filter((text) => text.endsWith('!')), ['b 1!', 'b 2!', 'b 3!', 'till!', 'till!']);
}, louder));

test('a turn without a server shows what it submits', async () => {
    class Order extends Actor {
        async pay(cents) {
            this.task('first', [1]);
            await this.context.submit('bill', [cents], { delay: '5s' });
            await this.context.submit(['note', ['a']], ['note', ['b'], { keep: '1h' }]);
            await this.context.tell('till/1', 'take', [cents]);
            return cents;
        }
        keep() { return this.context.save(1); }
    }
    const { result, changes } = await turn(Order, null, 'pay', [7]);
    assert.deepStrictEqual([result, changes.tell], [7, [['till/1', 'take', [7], {}]]]);
    const notes = [['note', ['a'], {}], ['note', ['b'], { keep: 3600000 }]];
    assert.deepStrictEqual(changes.task, [['first', [1], {}], ['bill', [7], { delay: 5000 }], ...notes]);
    await assert.rejects(turn(Order, null, 'keep'), { code: 'BAD_PARAMS' });
});

test('what has to do with a batch knows it', async () => {
    const { app } = composed();
    app.task('belongs', ({ batch, callbackOf }) => [batch, callbackOf]);
    let ready;
    const isReady = new Promise((resolve) => (ready = resolve));
    const work = app.work({ signals: false, onReady: ready });
    try {
        await Promise.race([isReady, work]);
        const { id } = await app.client.batchCreate({ onEnd: ['belongs'] });
        assert.deepStrictEqual(await (await app.client.submit('belongs', [], { batch: id })).wait(), [id, null]);
        await app.client.batchClose(id);
        const { on_end: end } = await app.client.batchWait(id);
        assert.deepStrictEqual(await app.client.task(end.task).wait(), [null, id]);
    } finally {
        app.stop();
        await work.finally(() => app.close());
    }
});

test('the next attempt has the checkpoint', () => both(async ({ crawl }) => {
    assert.deepStrictEqual(await (await crawl.submit()).wait(), [1, 2]);
}));
