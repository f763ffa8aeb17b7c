'use strict';

const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { connect, Client } = require('ergon-client');
const { server } = require('ergon-client/testing');

let place, ergon;
before(async () => {
    place = await server('--loops', '1', '--module', 'demo');
    ergon = await connect(place.url);
});
after(async () => {
    await ergon.close();
    await place.close();
});

async function collect(iterator, most = Infinity) {
    const all = [];
    for await (const one of iterator) if (all.push(one) >= most) break;
    return all;
}

test('queues', async () => {
    await ergon.queuePause('echo');
    const task = await ergon.submit('echo', [1]);
    assert.ok((await ergon.queues()).find(({ method }) => method === 'echo').paused);
    assert.strictEqual((await ergon.queueExplain('echo')).reason, 'paused');
    assert.strictEqual((await ergon.queueResume('echo')).paused, false);
    assert.strictEqual(await task.wait(), 1);
    assert.ok((await ergon.queueDrain('echo')).draining);
    await assert.rejects(ergon.submit('echo', [1]), { code: 'DRAINING' });
    await ergon.queueResume('echo');
});

test('tasks by filter, page by page, and changes of many', async () => {
    await ergon.submitMany(Array.from({ length: 25 }, (_, i) => ['echo', [`word${i}`]]), { delay: '1h', keep: '5m' });
    const some = await collect(ergon.tasks({ state: 'delayed', method: 'echo', limit: 10 }));
    assert.strictEqual(new Set(some.map(({ id }) => id)).size, 25);
    assert.strictEqual((await collect(ergon.tasks({ contains: 'word24' }))).length, 1);
    assert.deepStrictEqual(await collect(ergon.tasks({ older: '1h' })), []);
    assert.strictEqual((await collect(ergon.tasks({ newer: '1h', state: 'delayed' }), 3)).length, 3);
    const task = ergon.task(some[0].id);
    assert.strictEqual((await task.change({ priority: 9, delay: '2h' })).priority, 9);
    await task.runNow();
    assert.match(await task.wait(), /^word/);
    assert.strictEqual((await ergon.cancelMany({ state: 'delayed', dryRun: true })).matched, 24);
    assert.strictEqual((await ergon.cancelMany({ state: 'delayed' })).cancelled, 24);
    assert.strictEqual((await ergon.retryMany({ method: 'echo', state: 'cancelled', dryRun: true })).matched, 24);
    assert.strictEqual((await ergon.forgetMany({ state: 'cancelled' })).forgotten, 24);
    await assert.rejects(ergon.cancelMany(), { code: 'BAD_PARAMS' });
    await assert.rejects(ergon.cancelMany({ state: 'queued', method: undefined }), /method is undefined: leave it out/);
    assert.throws(() => ergon.tasks({ stat: 'done' }), /did you mean 'state'/);
});

test('crons', async () => {
    await ergon.cronPut('often', '@hourly', 'echo', ['it']);
    assert.deepStrictEqual((await ergon.crons()).map(({ name, method }) => [name, method]), [['often', 'echo']]);
    assert.strictEqual((await ergon.cronPause('often')).paused, true);
    assert.strictEqual(await (await ergon.cronRun('often')).wait(), 'it');
    assert.strictEqual((await ergon.cronResume('often')).paused, false);
    assert.deepStrictEqual([await ergon.cronDelete('often'), await ergon.cronDelete('often')], [true, false]);
});

test('batches', async () => {
    const { id } = await ergon.batchCreate({ onEnd: ['echo', ['it']], keep: '2h' });
    await ergon.submitMany([1, 2].map((n) => ['echo', [n], { batch: id }]));
    assert.strictEqual((await ergon.batchClose(id)).total, 2);
    const { state, outcome, done, on_end: end } = await ergon.batchGet(id, { wait: 30000 });
    assert.deepStrictEqual([state, outcome, done], ['ended', 'done', 2]);
    assert.strictEqual(await ergon.task(end.task).wait(), 'it');
    const other = await ergon.batchCreate();
    assert.strictEqual((await ergon.batchCancel(other.id)).state, 'cancelling');
    const ids = [];
    for await (const batch of ergon.batches()) ids.push(batch.id);
    assert.deepStrictEqual(ids, [other.id, id]);
});

test('a batch is waited for', async () => {
    const { id } = await ergon.batchCreate({ onEnd: ['echo', ['it']] });
    await assert.rejects(ergon.batchWait(id, { timeout: 100 }), { code: 'TIMEOUT' });
    const waits = ergon.batchWait(id);
    await ergon.batchClose(id);
    const { state, outcome } = await waits;
    assert.deepStrictEqual([state, outcome], ['ended', 'done']);
    await assert.rejects(ergon.batchWait('b0000000000001'), { code: 'NOT_FOUND' });
});

test('semaphores', async () => {
    assert.deepStrictEqual(await ergon.semCreate('gpu', 2, { durable: 'none' }), { name: 'gpu', permits: 2 });
    const hold = await ergon.acquire('gpu', {});
    assert.deepStrictEqual((await ergon.sems()).map(({ name, free }) => [name, free]), [['gpu', 1]]);
    assert.strictEqual((await ergon.semExplain('gpu')).holders[0].fence, hold.fence);
    assert.strictEqual((await ergon.semRevoke('gpu', hold.fence)).fence, hold.fence);
    await hold.release();
    assert.strictEqual(await ergon.semDelete('gpu'), true);
});

test('events of tasks, workers, actors, and the server', async () => {
    const task = await ergon.submit('echo', ['heard']);
    const heard = await collect(ergon.events({ after: 'oldest', id: task, event: ['submitted', 'done'] }), 2);
    assert.deepStrictEqual(heard.map(({ event, id }) => [event, id]), [['submitted', task.id], ['done', task.id]]);
    const late = ergon.events({ id: task, signal: AbortSignal.timeout(20) });
    await assert.rejects(collect(late), { name: 'TimeoutError' });
    let ready;
    const isReady = new Promise((resolve) => (ready = resolve));
    const working = ergon.work({ own: () => 1 }, { name: 'ours', signals: false, onReady: ready });
    await isReady;
    assert.deepStrictEqual((await collect(ergon.workers({ method: 'own' }))).map(({ name }) => name), ['ours']);
    ergon.stop();
    await working;
    await ergon.actor('counter/eggs').call('add', [1]);
    assert.deepStrictEqual((await collect(ergon.actors({ type: 'counter' }))).map(({ actor }) => actor), ['counter/eggs']);
    assert.ok((await ergon.actorTypes()).some(({ type }) => type === 'counter'));
    assert.strictEqual(typeof (await ergon.info()).version, 'string');
    await assert.rejects(ergon.info({ tenant: 'x' }), TypeError);
});

test('a gap in the events is not lost with a page that has none', async () => {
    const pages = [{ gap: 'overrun', missed: 2, events: [] }, { gap: 'overrun', missed: 3, events: [] }, { events: [{}, {}] }];
    const session = { ended: null, limits: {}, request: async () => pages.shift(), finish: async () => {} };
    const client = Client.inProcess(session);
    assert.deepStrictEqual(await collect(client.events(), 2), [{ gap: 'overrun', missed: 5 }, {}]);
    await client.close();
});
