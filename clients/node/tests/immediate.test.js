'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { Actor, Again, App } = require('ergon-client');
const { immediate } = require('ergon-client/testing');

test('what immediate() has of the server', async (t) => {
    const app = new App();
    const run = immediate(app);
    t.after(() => run.close());
    const later = app.task('later', { retries: 1 }, async (context, n) => {
        if (context.attempt <= n) throw new Again('1h');
        await context.partial({ so: 'far' });
        return context.attempt;
    });
    const aborted = ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', resolve));
    const slow = app.task('slow', { attemptTimeout: 5 }, aborted);
    const odd = app.task('odd', () => () => 'no value');
    const nested = app.task('nested', async (context, n) => (n === 0 ? 0 : 1 + (await nested.call(n - 1))));
    let runs = 0;
    class Walker extends Actor {
        static type = { retries: 2, callRetries: 1 };
        go(to) { this.state.to = to; this.wake(); }
        step() {
            this.state.at = (this.state.at ?? 0) + 1;
            if (this.state.at < (this.state.to ?? 0)) return;
            this.sleep();
        }
        halt() { this.stop('wrong prices'); }
        later() { this.remind('soon', 'go', [1], { in: '1s' }); }
        fail() { throw new Error(`no luck ${++runs}`); }
        ask(to) { return this.call(to, 'ask', [this.name]); }
    }
    const walker = app.actor('walker', Walker);
    app.cron('daily', '@daily', { params: [0] }, nested);

    const task = await later.with({ delay: '1h' }).submit(3); // nothing waits for its time
    assert.strictEqual(await task.wait(), 4);
    assert.strictEqual((await task.get()).failures, 0);
    const events = [];
    for await (const { event, data } of task.watch()) if (event === 'partial') events.push(data);
    assert.deepStrictEqual(events, [{ so: 'far' }]);
    await assert.rejects((await slow.submit()).wait(), { code: 'DEADLINE' });
    await assert.rejects((await odd.submit()).wait(), { code: 'FAILED', message: /not for MessagePack/ });
    assert.strictEqual(await nested.call(5), 5);
    const many = await app.client.submitMany([['nested', [1]], ['none', []], ['nested', [2]]]);
    assert.deepStrictEqual(many.map((one) => one.code ?? 'task'), ['task', 'NO_METHOD', 'task']);
    assert.deepStrictEqual((await app.client.wait([many[0], many[2]])).ended.map(({ result }) => result), [1, 2]);
    assert.deepStrictEqual(await nested.map([0, 1, 2]), [0, 1, 2]);
    assert.strictEqual(await (await app.chain(nested.order(1), nested.order(2))).wait(), 2);
    await walker('w').call('go', [7]);
    assert.strictEqual((await walker('w').get()).state.at, 7);
    await assert.rejects(walker('w').call('ask', ['walker/w']), { code: 'DEADLOCK' });
    await assert.rejects(walker('w').call('fail'), { code: 'FAILED', message: /no luck 2/ });
    await assert.rejects((await walker('w').tell('fail')).wait(), { code: 'FAILED', message: /no luck 5/ });
    await assert.rejects(walker('w').call('later'), { code: 'NO_METHOD', message: /no reminders/ });
    await walker('w').call('halt');
    await assert.rejects(walker('w').call('go', [8]), { code: 'STOPPED', message: /walker\/w is stopped: wrong prices/ });
    assert.strictEqual((await (await walker('w').tell('go', [8])).get()).attempt, 1);
    await assert.rejects(app.client.retryMany({ state: 'dead' }), { code: 'NO_METHOD', message: /by a filter/ });
    await assert.rejects(odd.with({ priority: 99 }).submit(), { code: 'BAD_PARAMS', message: /priority/ });
    await assert.rejects(odd.with({ retries: -5 }).submit(), { code: 'BAD_PARAMS', message: /retries/ });
    const seen = app.client.eventWait('there', { timeout: '5s' });
    await app.client.eventSet('there', 'yes');
    assert.deepStrictEqual(await seen, { seq: 1, value: 'yes' });
    await assert.rejects(app.client.acquire('gpu', { of: 1 }), /immediate\(\) has few methods of the server: see server\(\)/);
    assert.deepStrictEqual((await app.client.crons()).map(({ name }) => name), ['daily']);
    const working = app.work({ signals: false });
    const { id } = await app.client.request('cron.run', ['daily']);
    assert.strictEqual(await app.client.task(id).wait(), 0);
    app.stop();
    await working;
});
