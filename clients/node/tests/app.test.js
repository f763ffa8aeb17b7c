'use strict';

const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { Actor, App, Permanent } = require('ergon-client');
const { server } = require('ergon-client/testing');

let place;
before(async () => (place = await server()));
after(() => place.close());

/** Runs use() while a worker of the app works. */
async function working(app, use, options = {}) {
    let ready;
    const isReady = new Promise((resolve) => (ready = resolve));
    const work = app.work({ slots: 8, signals: false, ...options, onReady: ready });
    try {
        await Promise.race([isReady, work]);
        await use();
    } finally {
        app.stop();
        await work.finally(() => app.close());
    }
}

/** The error with which it fails. */
async function fails(code, promise, text = /./) {
    const error = await promise.then((value) => assert.fail(`no error, but ${value}`), (e) => e);
    assert.strictEqual(error.code, code, error.stack);
    assert.match(error.message, text);
    return error;
}

test('the policy of a task is that of its submissions', async () => {
    const app = new App({ url: place.url });
    let runs = 0;
    const flaky = app.task('flaky', { retries: 2, backoff: 1, keep: '5m' }, async (context, word) => {
        if (++runs < 3) throw new Error('no luck');
        return `${word} ${context.attempt}`;
    });
    const { twice, never } = app.tasks({
        twice: async (_, number) => 2 * number,
        never: async () => {
            throw new Permanent('it never works');
        },
    });
    await working(app, async () => {
        const task = await flaky.submit('tried');
        assert.strictEqual(await task.wait(), 'tried 3');
        assert.strictEqual((await task.get()).retries, 2);
        assert.strictEqual(await twice.call(21), 42);
        const keyed = twice.with({ key: 'once' });
        assert.strictEqual((await keyed.submit(1)).id, (await keyed.submit(1)).id);
        const later = await twice.with({ delay: '1h', priority: 9 }).submit(1);
        assert.deepStrictEqual([(await later.get()).priority, (await later.get()).state], [9, 'delayed']);
        await later.cancel();
        await fails('PERMANENT', (await never.submit()).wait(), /it never works/);
    });
});

test('orders, chains and maps', async () => {
    for (const middleware of [{}, { submit: (order, next) => next() }]) {
        const app = new App({ url: place.url }).use(middleware);
        const half = app.task('half', async (_, number) => {
            if (number % 2) throw new Permanent(`${number} is odd`);
            return number / 2;
        });
        const last = app.task('last', async () => 'the end');
        await working(app, async () => {
            assert.deepStrictEqual(await half.map([2, 4, 6]), [1, 2, 3]);
            assert.deepStrictEqual(await half.map([]), []);
            await fails('PERMANENT', half.map([2, 3]), /3 is odd/);
            const end = await app.chain(half.order(2), half.with({ delay: 10 }).order(4), last.order());
            assert.strictEqual(await end.wait(), 'the end');
            await fails('AFTER', (await app.chain(half.order(1), last.order())).wait());
            const [one, two] = await app.client.submitMany([half.order(8), ['half', [10]]]);
            assert.deepStrictEqual([await one.wait(), await two.wait()], [4, 5]);
        });
    }
    const far = new App({ url: place.url });
    await fails('NO_METHOD', far.task('nowhere', () => 1).map([1]));
    await far.close();
});

test('what the registry refuses says what to use', () => {
    const app = new App({ url: place.url });
    app.task('one', () => 1);
    assert.throws(() => app.task('one', () => 1), /has a task 'one' already/);
    assert.throws(() => app.task('two', { retrys: 3 }, () => 1), /no option 'retrys'.*did you mean 'retries'/);
    assert.throws(() => app.task('two', { timeout: 3 }, () => 1), /attemptTimeout ends an attempt/);
    assert.throws(() => app.tasks({ sendMail: () => 1 }), /'sendMail' is no name.*write 'send_mail'/);
    assert.throws(() => app.actor('cart', class extends Actor { checkOut() {} }), /write 'cart.check_out'/);
    assert.throws(() => app.task('two', {}), /a task is a name and a function/);
    for (const check of [7, String, Date, class {}, [class {}], [Map], [7]])
        assert.throws(() => app.task('two', { check }, () => 1), /check of two: use a function/);
    assert.throws(() => app.task('one2', () => 1).with({ delai: 1 }), /did you mean 'delay'/);
    assert.throws(() => app.cron('c', '@daily', { overlapp: 'skip' }, () => 1), /did you mean 'overlap'/);
    assert.throws(() => app.actor('cart', class {}), /a class that extends Actor/);
    const { ERGON_URL } = process.env;
    delete process.env.ERGON_URL;
    assert.throws(() => new App().client, /needs a url/);
    if (ERGON_URL !== undefined) process.env.ERGON_URL = ERGON_URL;
});

test('parameters that do not fit fail the task for good', async () => {
    const app = new App({ url: place.url });
    const handler = async (_, ...params) => params;
    const kinds = app.task('kinds', { retries: 5, check: [String, Number] }, handler);
    const conversions = [{ parse: (text) => new Date(text) }, (n) => n ?? 7];
    const made = app.task('made', { check: conversions }, async (_, date, n) => [date.getTime(), n]);
    const all = app.task('all', { check: (a, b) => a < b }, handler);
    const positive = app.task('positive', { check: [Boolean, (n) => n > 0, { parse: (is) => is }] }, handler);
    const late = app.task('late', { check: async () => { throw new Error('unheard'); } }, handler);
    const issues = [{ path: [0, 'cents'], message: 'Expected number, received string' }]; // as of zod
    const parse = ([map]) => {
        if (typeof map?.cents !== 'number') throw Object.assign(new Error('[…]'), { issues });
        return [map.cents];
    };
    const parsed = app.task('parsed', { check: { parse } }, handler);
    await working(app, async () => {
        assert.deepStrictEqual(await kinds.call('a', 1), ['a', 1]);
        const refused = await kinds.submit('a', 'b');
        await fails('BAD_PARAMS', refused.wait(), /^BAD_PARAMS: kinds: parameter 2: expected a number, and got a string$/);
        assert.strictEqual((await refused.get()).attempt, 1);
        await fails('BAD_PARAMS', kinds.call('a'), /parameter 2: expected a number, and got nothing/);
        await fails('BAD_PARAMS', kinds.call('a', 1, 2), /kinds: expected 2 parameters, and got 3/);
        assert.deepStrictEqual(await made.call('2030-01-01T00:00:00Z'), [Date.UTC(2030, 0, 1), 7]);
        assert.deepStrictEqual(await all.call(1, 2), [1, 2]);
        assert.deepStrictEqual(await positive.call(false, 1, false), [false, 1, false]);
        await fails('BAD_PARAMS', positive.call(true, 0, true), /positive: parameter 2: its check refused it/);
        await fails('BAD_PARAMS', late.call(), /late: its check returned a Promise/);
        await fails('BAD_PARAMS', all.call(2, 1), /all: the check of its parameters refused them/);
        assert.deepStrictEqual(await parsed.call({ cents: 5 }), [5]);
        await fails('BAD_PARAMS', parsed.call({ cents: '5' }), /parsed: parameter 1\.cents: Expected number, received string/);
    });
});

test('middleware goes round submissions and handlers, the first outermost', async () => {
    const app = new App({ url: place.url });
    const seen = [];
    const named = (name) => ({
        async submit(order, next) {
            seen.push(`${name} ${order.how} ${order.actor ?? ''}${order.method}`);
            order.options.priority = 7;
            return next();
        },
        async handle(job, next) {
            seen.push(`${name} > ${job.method}`);
            try {
                return await next();
            } finally {
                seen.push(`${name} < ${job.method}`);
            }
        },
    });
    app.use({ handle: (job, next) => next().finally(() => {}) }); // round a handler that is not async, too
    app.use(named('a')).use(named('b')).use(async (job, next) => {
        job.params = job.params.map((one) => one + 1);
        return [await next()];
    });
    const one = app.task('one', { check: [Number] }, (_, number) => number);
    class Count extends Actor {
        add(number) { return (this.state.n = (this.state.n ?? 0) + number); }
    }
    const count = app.actor('tally', Count);
    await working(app, async () => {
        const task = await one.submit(1);
        assert.deepStrictEqual(await task.wait(), [2]);
        assert.strictEqual((await task.get()).priority, 7);
        assert.deepStrictEqual(seen, ['a submit one', 'b submit one', 'a > one', 'b > one', 'b < one', 'a < one']);
        seen.length = 0;
        assert.deepStrictEqual(await count(1).call('add', [1]), [2]);
        assert.deepStrictEqual(await (await count('1').tell('add', [1], { keep: '1m' })).wait(), [4]);
        assert.deepStrictEqual((await count('1').get()).state, { n: 4 });
        assert.deepStrictEqual(seen.slice(0, 3), ['a call tally/1add', 'b call tally/1add', 'a > tally.add']);
    });
});

test('a worker puts the crons of its app', async () => {
    const app = new App({ url: place.url });
    const report = app.task('report', { retries: 3, keep: '1m' }, async (_, word) => word);
    app.cron('nightly', '@daily', { zone: 'Europe/Berlin', params: ['night'] }, report);
    app.cron('hourly', 3600000, async () => 'hour');
    await working(app, async () => {
        let crons = [];
        while (crons.length < 2) crons = await app.client.request('cron.list');
        const { nightly, hourly } = Object.fromEntries(crons.map((cron) => [cron.name, cron]));
        assert.deepStrictEqual([nightly.method, nightly.params, nightly.zone], ['report', ['night'], 'Europe/Berlin']);
        assert.strictEqual(nightly.options.retries, 3);
        assert.strictEqual(hourly.method, 'hourly');
        const { id } = await app.client.request('cron.run', ['hourly']);
        assert.strictEqual(await app.client.task(id).wait(), 'hour');
    });
    app.cron('broken', 'no times', async () => 1);
    await assert.rejects(app.work({ signals: false }), /BAD_PARAMS/);
    await app.close();
});
