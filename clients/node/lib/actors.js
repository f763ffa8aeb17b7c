// Types of actors, for work(): a class is a type, an object of it one turn.
'use strict';

const { Again, ErgonError } = require('./errors');
const { encode } = require('../msgpack');
const { told: optionsOf, wholeOf } = require('./options');
const { ordered } = require('./results');
const { Context } = require('./serving');

const UNKNOWN = '100ms'; // until a state of a schema that this host does not know is offered to a host again
const same = (value) => value;
// name: [that of the server, how its value is told]
const POLICY = {
    schema: ['schema', same],
    reads: ['reads', (value) => [...value]],
    durable: ['durable', same],
    idle: ['idle', wholeOf],
    retries: ['retries', same],
    callRetries: ['call_retries', same],
    backoff: ['backoff', wholeOf],
    backoffMax: ['backoff_max', wholeOf],
    timeout: ['timeout', wholeOf],
    messages: ['messages', same],
    mailbox: ['mailbox', same],
    stateMax: ['state', same],
    onFailure: ['on_failure', same],
    intensity: ['intensity', same],
    window: ['window', wholeOf],
    supervisor: ['supervisor', same],
    pipeline: ['pipeline', same],
};

class Actor {
    static type = {};
    #changes;
    #ask; // calls an actor

    constructor(told, context, ask) {
        this.#ask = ask;
        this.name = told.actor;
        this.version = told.version;
        this.state = told.state;
        this.context = context;
        this.#changes = Context.changesOf(context) ?? {};
    }

    upgrade(state) {
        return state;
    }

    sleep(duration) {
        this.#changes.sleep = duration === undefined ? true : wholeOf(duration, 'duration');
    }

    wake() {
        this.#changes.wake = true;
    }

    stop(why) {
        this.#changes.stop = why;
    }

    drop() {
        this.#changes.drop = true;
    }

    call(to, method, params = [], options = {}) {
        return this.#ask(to, method, params, optionsOf('task', options, 'call()'));
    }

    tell(to, method, params = [], options = {}) {
        (this.#changes.tell ??= []).push([to, ...ordered('task', [method, params, options], 'tell()')]);
    }

    remind(name, method, params = [], when = {}) {
        (this.#changes.remind ??= []).push([name, method, params, optionsOf('reminder', when, 'remind()')]);
    }

    forget(name) {
        (this.#changes.forget ??= []).push(name);
    }

    task(method, params = [], options = {}) {
        (this.#changes.task ??= []).push(ordered('task', [method, params, options], 'task()'));
    }

    /** For the package. */
    static changesOf(turn) {
        return turn.#changes;
    }
}

/** The names of its methods. */
function methodsOf(kind) {
    const names = new Set();
    for (let at = kind.prototype; at && at !== Actor.prototype; at = Object.getPrototypeOf(at))
        for (const name of Object.getOwnPropertyNames(at))
            if (!name.startsWith('_') && !(name in Actor.prototype) && typeof at[name] === 'function') names.add(name);
    return [...names];
}

/** The option of worker.register. TypeError: a class has a policy that there is none of, or names a method that it has not. */
function policyOf(name, kind) {
    const told = {};
    if (!(kind.prototype instanceof Actor)) throw new TypeError(`the actors ${name} need a class that extends Actor`);
    for (const [key, value] of Object.entries(kind.type)) {
        if (!Object.hasOwn(POLICY, key))
            throw new TypeError(`the type ${name} has no '${key}'; it has ${Object.keys(POLICY).join(', ')}`);
        const [other, change] = POLICY[key];
        told[other] = change(value, key);
    }
    const strange = told.reads?.find((method) => !methodsOf(kind).includes(method));
    if (strange !== undefined) throw new TypeError(`reads of ${name} names '${strange}', which is no method of it`);
    return told;
}

/** The handlers of the types, and what the server is told of them; {}: nothing. */
function typesOf(actors = {}) {
    const handlers = {};
    const policies = {};
    for (const [name, kind] of Object.entries(actors)) {
        policies[name] = policyOf(name, kind);
        for (const method of methodsOf(kind))
            handlers[`${name}.${method}`] = async (context, ...params) => {
                const ask = (...call) => Context.callActor(context, ...call);
                const { result, changes } = await run(kind, context.turn, context, ask, method, params);
                return [result, Object.keys(changes).length > 0 ? changes : null];
            };
    }
    return { handlers, policies };
}

/** A turn: before the method the state is upgraded; after it the state is sent if it differs, or was upgraded. */
async function run(kind, told, context, ask, method, params) {
    const own = kind.type.schema ?? 0;
    if (told.schema > own) throw new Again(UNKNOWN);
    const turn = new kind(told, context, ask);
    const before = encode(told.state ?? {});
    const isOld = told.state !== null && told.schema < own;
    turn.state ??= {};
    if (isOld) turn.state = await turn.upgrade(turn.state, told.schema);
    const result = (await turn[method](...params)) ?? null;
    const changes = Actor.changesOf(turn);
    if ([...(kind.type.reads ?? [])].includes(method)) return { result, changes: {}, state: told.state };
    if (changes.drop) return { result, changes, state: null };
    if (isOld || !encode(turn.state).equals(before)) changes.state = turn.state;
    return { result, changes, state: changes.state ?? told.state };
}

/** What turn() calls in place of actors. */
async function answerOf(calls, to, method, params) {
    const answer = calls[`${to} ${method}`];
    if (answer === undefined)
        throw new TypeError(`the turn calls ${to} ${method}: turn(…, { calls: { '${to} ${method}': its result } })`);
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer(...params) : answer;
}

/** In place of a server, in turn(): what is submitted is among the changes, and nobody hears how far it is. */
const NOBODY = {
    notify: async () => {},
    request: async (method) => { throw new ErgonError('BAD_PARAMS', `${method}: turn() has no server`); },
};

/** Runs one message without a server, for tests. */
async function turn(kind, state, method, params = [], { schema = kind.type.schema ?? 0, name = 'test/1', calls = {} } = {}) {
    if (!methodsOf(kind).includes(method)) throw new ErgonError('NO_METHOD', `${kind.name} has no method ${method}`);
    const told = { actor: name, version: 0, state: structuredClone(state), schema: state === null ? 0 : schema };
    const ask = (to, name, given) => answerOf(calls, to, name, given);
    const context = new Context(NOBODY, 0, `${name.split('/')[0]}.${method}`, told);
    const { result, changes, state: after } = await run(kind, told, context, ask, method, params);
    const others = { ...changes };
    delete others.state;
    return { result, state: after, changes: others };
}

module.exports = { Actor, turn, typesOf };
