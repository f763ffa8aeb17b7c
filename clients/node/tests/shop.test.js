// The suite of the sample application: without a server, and with one of its own, with the same results.
'use strict';

const assert = require('node:assert');
const { test } = require('node:test');
const { immediate, server } = require('ergon-client/testing');
const { app, bank, cart, charge, order, report, ship } = require('../examples/shop');
const { counts } = require('../examples/metrics');

/** A server, and a worker of the app. */
async function served() {
    const place = await server('--loops', '1', '--store', 'tasks');
    app.url = place.url;
    let working;
    await new Promise((resolve, reject) => {
        working = app.work({ slots: 8, signals: false, onReady: resolve, onTrouble: () => {} });
        working.catch(reject);
    });
    const close = async () => {
        app.stop();
        await working;
        await app.close();
        await place.close();
    };
    return { close };
}

for (const [mode, open] of [['immediate()', async () => immediate(app)], ['server()', served]])
    test(`the shop by ${mode}`, async (t) => {
        counts.clear();
        const place = await open();
        try {
            await suite(t);
        } finally {
            await place.close();
        }
    });

async function suite(t) {
    await t.test('an order is charged, and shipped', async () => {
        const [charged, shipped] = await (await order.submit('o1', 'ann', 500)).wait();
        assert.deepStrictEqual(await app.client.task(charged).wait(), { customer: 'ann', cents: 500, attempt: 1 });
        assert.strictEqual(await app.client.task(shipped).wait(), 'o1 is on its way');
    });
    await t.test('a bank that is down is tried again', async () => {
        bank.isDown = 2;
        const task = await charge.submit('ben', 5);
        assert.strictEqual((await task.wait()).attempt, 3);
        const { attempt, failures, state } = await task.get();
        assert.deepStrictEqual([attempt, failures, state], [3, 2, 'done']);
        const events = [];
        for await (const { event } of task.watch()) events.push(event);
        for (const event of ['submitted', 'attempt_failed', 'progress', 'done']) assert.ok(events.includes(event), events);
        bank.isDown = 100;
        const dead = await charge.submit('ben', 5);
        await assert.rejects(dead.wait(), { code: 'FAILED', message: /the bank is down/ });
        assert.strictEqual((await dead.get()).state, 'dead');
        bank.isDown = 0;
        await dead.retry();
        assert.strictEqual((await dead.wait()).customer, 'ben');
    });
    await t.test('what cannot be charged fails for good, and nothing is shipped', async () => {
        const charged = await charge.submit('cy', -1);
        await assert.rejects(charged.wait(), { code: 'PERMANENT' });
        assert.strictEqual((await charged.get()).attempt, 1);
        await assert.rejects((await ship.with({ after: charged }).submit('o2')).wait(), { code: 'AFTER' });
        await assert.rejects((await charge.submit('cy', '5')).wait(), {
            message: 'BAD_PARAMS: shop.charge: parameter 2: expected a number, and got a string',
        });
        await assert.rejects(charge.call('cy'), { code: 'BAD_PARAMS' });
    });
    await t.test('an order with a key is one', async () => {
        const twice = order.with({ key: 'o3' });
        const [one, same] = [await twice.submit('o3', 'dan', 7), await twice.submit('o3', 'dan', 7)];
        assert.strictEqual(one.id, same.id);
        assert.deepStrictEqual([one.said.duplicate, same.said.duplicate], [false, true]);
    });
    await t.test('a cart is checked out', async () => {
        const mine = cart('ann');
        assert.deepStrictEqual([await mine.call('add', ['fig', 70]), await mine.call('add', ['pear', 80])], [1, 2]);
        assert.strictEqual(await mine.call('total'), 150);
        assert.deepStrictEqual((await mine.get()).state, { items: { fig: 70, pear: 80 } });
        assert.deepStrictEqual(await Promise.all([1, 2, 3].map((n) => mine.call('add', [`plum${n}`, n]))), [3, 4, 5]);
        await mine.call('check_out', ['o4', 'ann']);
        const bought = await order.with({ key: 'order/o4' }).submit('o4', 'ann', 0);
        assert.ok(bought.said.duplicate);
        const [charged] = await bought.wait();
        assert.strictEqual((await app.client.task(charged).wait()).cents, 156);
        assert.strictEqual(await mine.call('total'), 0);
    });
    await t.test('the report, and what is not there', async () => {
        assert.strictEqual(await report.call('weekly'), 'the weekly report');
        await assert.rejects(app.client.submit('shop.none', []), { code: 'NO_METHOD' });
        await assert.rejects(app.client.call('shop.none', []), { code: 'NO_METHOD' });
        await assert.rejects(ship.with({ after: 't0000000000abc' }).submit('o5'), { code: 'NOT_FOUND' });
        const gone = await ship.submit('o5');
        await gone.wait();
        await gone.forget();
        await assert.rejects(gone.get(), { code: 'NOT_FOUND' });
        assert.strictEqual(counts.get('failed{method="shop.charge",code="BAD_PARAMS"}'), 2);
    });
}
