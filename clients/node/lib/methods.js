// Methods of a client that are one request each, in a table: queues, crons, semaphores, and what the server says of itself.
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
    sems: ['sem.list', 0, null, true],
    semCreate: ['sem.create', 2, ['durable'], false],
    semDelete: ['sem.delete', 1, null, false],
    semExplain: ['sem.explain', 1, TENANT, true],
    semRevoke: ['sem.revoke', 2, TENANT, false],
    actorTypes: ['actor.types', 0, null, true],
};
const CALL = ['timeout', 'signal'];

/** Gives the class the methods of the table: after the parameters come options of the server and of a call. */
function addTo(Client) {
    for (const [name, [method, count, known, again]] of Object.entries(TABLE)) {
        const value = async function (...given) {
            const { timeout, signal, ...options } = check(given[count] ?? {}, [...(known ?? []), ...CALL], `${name}()`);
            const params = given.slice(0, count);
            return this.request(method, known === null ? params : [...params, options], { timeout, signal, again });
        };
        Object.defineProperty(Client.prototype, name, { value, writable: true, configurable: true });
    }
}

/** The members of the pages of a method that has `cursor` and `next`. */
async function* pages(client, method, name, filter, options) {
    for (let cursor; ;) {
        const page = await client.request(method, [{ ...filter, cursor }], { ...options, again: true });
        yield* page[name];
        cursor = page.next ?? undefined;
        if (cursor === undefined) return;
    }
}

/** Cancels, retries or forgets many tasks, whose count it returns: {matched, …}. */
function many(client, verb, { timeout, signal, ...filter }) {
    return client.request(`task.${verb}`, [told('filter', filter, `${verb}Many()`, CALL)], { timeout, signal });
}

module.exports = { addTo, many, pages };
