// What this principal may do, by server.whoami: what it may not call is off from the beginning, and says why.

import { call } from './api.js';

let me = null;          // as server.whoami told it; null: it did not
let denied = new Map(); // methods that were refused meanwhile, and how

/** Which method each view cannot do without. */
export const NEEDS = {
    overview: 'server.info', charts: 'server.info', methods: 'server.times', queues: 'queue.list', tasks: 'task.list', task: 'task.get', events: 'task.events', workers: 'worker.list',
    crons: 'cron.list', semaphores: 'sem.list', connections: 'connection.list', actors: 'actor.list', actor: 'actor.get',
    batches: 'batch.list', batch: 'batch.get',
};

/** Asks the server anew; true: it is another answer than before. */
export async function load() {
    const before = JSON.stringify(me);
    denied = new Map();
    try {
        me = await call('server.whoami');
    } catch (error) {
        if (error.code === 'GONE' || error.code === 'AUTH') throw error;
        me = null; // a server of before: what is denied is learnt by trying
    }
    markAll();
    return JSON.stringify(me) !== before;
}

export const whoami = () => me;

/** Why the method may not be called, or null. */
export function whyNot(method) {
    if (denied.has(method)) return denied.get(method);
    if (!me || !Array.isArray(me.methods) || !/^(server|task|queue|cron|worker|sem|event|connection|actor|batch)\./.test(method) || me.methods.includes(method)) return null;
    const allowed = me.grants?.some((grant) => grant.methods?.some((pattern) => fits(pattern, method)));
    return allowed ? `the listener of this page does not allow ${method}` : `the rights of ${me.principal} do not include ${method}`;
}

export const may = (method) => whyNot(method) === null;

const fits = (pattern, name) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern);

// Only the refusal of the method itself counts: another task, tenant or key may well be allowed.
const isOf = (method, error) => error.code === 'DENIED' && error.message.includes(`may not call "${method}"`);

export function learn(method, error) {
    if (denied.has(method) || !isOf(method, error)) return;
    denied.set(method, error.message);
    markAll();
}

function markAll() {
    for (const button of document.querySelectorAll('button[data-method]')) mark(button);
}

/** Switches a button off if its method is denied, and on again when it no longer is. */
export function mark(button) {
    const why = whyNot(button.dataset.method);
    if (why !== null) {
        if (button.dataset.denied === undefined) button.dataset.denied = button.title;
        button.disabled = true;
        button.title = `Not allowed: ${why}`;
    } else if (button.dataset.denied !== undefined) {
        button.disabled = false;
        button.title = button.dataset.denied;
        delete button.dataset.denied;
    }
}

export function forgetAll() {
    me = null;
    denied = new Map();
}

/** A sentence for people. */
export function sentence(error) {
    switch (error.code) {
    case 'DENIED': return `You are not allowed to do this: ${error.message}.`;
    case 'NOT_FOUND': return `Not found: ${error.message}.`;
    case 'AUTH': return 'The session has ended. Please sign in again.';
    case 'BUSY': return `The server is busy: ${error.message}.`;
    case 'GONE': return 'The server does not answer.';
    default: return `${error.code}: ${error.message}`;
    }
}
