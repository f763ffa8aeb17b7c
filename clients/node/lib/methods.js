// Methods of a client that are a request and no more, in tables: queues, crons, semaphores, lists, and changes of many tasks.
'use strict';

const { check, told } = require('./options');

const TENANT = ['tenant'];
// name: [method of the server, how many parameters it has, its options (null: none), does it no harm to ask twice]
const TABLE = {
    info: ['server.info', 0, null, true],
    queues: ['queue.list', 0, null, true],
    queueExplain: ['queue.explain', 1, null, true],
    queuePause: ['queue.pause', 1, null, false],
    queueResume: ['queue.resume', 1, null, false],
    queueDrain: ['queue.drain', 1, null, false],
    crons: ['cron.list', 0, null, true],
    cronDelete: ['cron.delete', 1, TENANT, false],
    cronPause: ['cron.pause', 1, TENANT, false],
    cronResume: ['cron.resume', 1, TENANT, false],
    batchClose: ['batch.close', 1, null, false],
    batchGet: ['batch.get', 1, ['wait'], true],
    batchCancel: ['batch.cancel', 1, null, false],
    sems: ['sem.list', 0, null, true],
    semCreate: ['sem.create', 2, ['durable'], false],
    semDelete: ['sem.delete', 1, null, false],
    semExplain: ['sem.explain', 1, TENANT, true],
    semRevoke: ['sem.revoke', 2, TENANT, false],
    actorTypes: ['actor.types', 0, null, true],
};
// name: [method of the server, the member of its pages that has them, kind of its options]
const PAGES = {
    tasks: ['task.list', 'tasks', 'list'],
    workers: ['worker.list', 'workers', 'page'],
    actors: ['actor.list', 'actors', 'page'],
    batches: ['batch.list', 'batches', 'page'],
};
const MANY = { cancelMany: 'task.cancel', retryMany: 'task.retry', forgetMany: 'task.forget' };
const CALL = ['timeout', 'signal'];

/** The members of the pages of a method that has `cursor` and `next`. */
async function* pages(client, method, members, filter, options) {
    for (let cursor; cursor !== null;) {
        const page = await client.request(method, [{ ...filter, cursor }], { ...options, again: true });
        yield* page[members];
        cursor = page.next ?? null;
    }
}

/** Gives the class the methods of the tables: after the parameters come options of the server and of a call. */
function addTo(Client) {
    const add = (name, value) => Object.defineProperty(Client.prototype, name, { value, writable: true, configurable: true });
    for (const [name, [method, count, known, again]] of Object.entries(TABLE))
        add(name, async function (...given) {
            const { timeout, signal, ...options } = check(given[count] ?? {}, [...(known ?? []), ...CALL], `${name}()`);
            const params = given.slice(0, count);
            return this.request(method, known === null ? params : [...params, options], { timeout, signal, again });
        });
    for (const [name, [method, members, kind]] of Object.entries(PAGES))
        add(name, function ({ timeout, signal, ...filter } = {}) {
            return pages(this, method, members, told(kind, filter, `${name}()`, CALL), { timeout, signal });
        });
    /** Makes a batch, and answers it: tasks are its members by their option `batch`.
   * onSuccess, onFailure, onEnd: [method, [params], {options}]. */
    add('batchCreate', async function ({ timeout, signal, ...options } = {}) {
        return this.request('batch.create', [told('batch', options, 'batchCreate()', CALL)], { timeout, signal });
    });
    for (const [name, method] of Object.entries(MANY))
        add(name, async function ({ timeout, signal, ...filter } = {}) {
            return this.request(method, [told('filter', filter, `${name}()`, CALL)], { timeout, signal });
        });
}

module.exports = { addTo };
