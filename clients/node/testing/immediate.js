// An app without a server: a task runs at once, in this process, and has ended when its submission is answered.
'use strict';

const { App } = require('../app/app');
const { Client } = require('../lib/client');
const { Again, ErgonError, named } = require('../lib/errors');
const { encode, Scanner } = require('../msgpack');
const { told: optionsOf } = require('../lib/options');
const { Later, until } = require('../lib/protocol');
const { errorText } = require('../lib/failures');
const { Context } = require('../lib/serving');

// Attempts after which a handler that says Again each time has failed, and steps of an actor after which it sleeps.
const AGAIN_MOST = 1000;
const STEPS_MOST = 100;
const PERMANENT = /^(BAD_PARAMS|NO_METHOD|NO_EXECUTOR|DENIED|TOO_LARGE|TOO_DEEP|PERMANENT\w*):/;
const TOLD = { 'worker.partial': ['partial', ['data']], 'worker.progress': ['progress', ['done', 'total', 'text']] };
const AFTER = 'AFTER: a task, which had to be done first, failed';

/** What becomes of a value on its way to the server and back. TypeError, RangeError: it is not for MessagePack. */
function copy(value) {
    const [same] = new Scanner(Infinity).feed(encode(value));
    return same;
}

const idOf = ({ id, state }) => ({ id, state });
const UNASKED = ['options', 'history', 'params', 'over']; // members of a task that are shown if they are asked for
const many = (value) => (value === undefined ? [] : Array.isArray(value) ? value : [value]);
const isEqual = (filter, task) =>
    ['state', 'method', 'key', 'actor'].every((name) => filter[name] === undefined || many(filter[name]).includes(task[name]));

/** The value, with result(id) in place of each { $result: id } in it. */
function withResults(value, result) {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    if (Array.isArray(value)) return value.map((each) => withResults(each, result));
    const keys = Object.keys(value);
    if (keys.length === 1 && typeof value.$result === 'string') return result(value.$result);
    for (const key of keys) value[key] = withResults(value[key], result);
    return value;
}

/** What answers a client in place of a session. */
class InProcess {
    ended = null;
    over = new Later();
    limits = {};
    #app;
    #parts; // {handlers, actors} of the app
    #last = 0; // id
    #tasks = new Map(); // id: task, in the order of their submissions
    #keys = new Map(); // key: task
    #actors = new Map(); // name: {version, state, schema, busy}
    #events = new Map(); // name: {seq, value, changed}
    #crons = new Map();

    constructor(app) {
        this.#app = app;
    }

    async request(method, params, signal) {
        const handle = METHODS[method] ?? ((_, given) => this.#direct(method, given));
        const answer = (async () => handle(this, copy(params), signal))();
        return copy((await until(answer, signal)) ?? null);
    }

    async notify() {}

    async finish() {
        this.ended = 'it was closed';
    }

    get #all() {
        return (this.#parts ??= App.partsOf(this.#app));
    }

    /** A policy of the type of an actor. */
    policy(name, key, otherwise) {
        return this.#all.actors[name.split('/')[0]]?.type[key] ?? otherwise;
    }

    // ---- tasks ----

    task(id, where = '') {
        const task = this.#tasks.get(id);
        if (typeof id !== 'string') throw named('NO_METHOD: immediate() changes no tasks by a filter: see server()');
        if (task === undefined) throw named(`NOT_FOUND: ${where}no task ${id}: it never existed, or was forgotten`);
        return task;
    }

    list(filter) {
        return [...this.#tasks.values()].reverse().filter((task) => isEqual(filter, task));
    }

    forget(id) {
        for (const [key, task] of this.#keys) if (task === this.task(id)) this.#keys.delete(key);
        return this.#tasks.delete(id);
    }

    /** What the server shows of a task. */
    shown(task, wanted = {}) {
        return Object.fromEntries(Object.entries(task).filter(([name]) => wanted[name] || !UNASKED.includes(name)));
    }

    async submit(method, params = [], options = {}) {
        const key = options.key === undefined ? null : `${options.actor ?? ''} ${options.key}`;
        const same = this.#keys.get(key);
        if (same !== undefined) {
            await same.over;
            return { ...idOf(same), duplicate: true, coalesced: false };
        }
        this.#check(method, options);
        for (const id of [...many(options.after), ...many(options.after_any)]) this.task(id, 'after: ');
        withResults(copy(params), (id) => {
            if (many(options.after).includes(id)) return null;
            throw named(`BAD_PARAMS: the parameters name the result of ${id}, and \`after\` does not name that task`);
        });
        const { retries = 0, priority = 5, key: own = null, actor, traceparent = null } = options;
        const task = {
            id: `t${String(++this.#last).padStart(13, '0')}`, method, params, options, state: 'queued', attempt: 0, failures: 0,
            retries, priority, key: own, actor, traceparent, created: Date.now(), ended: null, error: null, result: null,
            history: [],
        };
        this.#tasks.set(task.id, task);
        if (key !== null) this.#keys.set(key, task);
        await (task.over = this.run(task));
        return { ...idOf(task), duplicate: false, coalesced: false };
    }

    /** It fails as the submission of this would. */
    #check(method, options = {}) {
        this.#handler(method);
        for (const [name, most] of [['priority', 9], ['retries', 2 ** 32 - 1]]) {
            const { [name]: value = 0 } = options;
            const isGood = Number.isInteger(value) && value >= 0 && value <= most;
            if (!isGood) throw named(`BAD_PARAMS: ${name}: a number from 0 to ${most}, not ${value}`);
        }
    }

    #tell(task, event, more = {}) {
        task.history.push({ seq: task.history.length + 1, at: Date.now(), event, attempt: task.attempt, ...more });
    }

    /** Until it has ended: retries do not wait. */
    async run(task) {
        this.#tell(task, 'submitted');
        const first = many(task.options.after).map((id) => this.#tasks.get(id));
        await Promise.all([...first, ...many(task.options.after_any).map((id) => this.#tasks.get(id))].map((one) => one?.over));
        if (first.some((one) => one?.state !== 'done')) return this.#end(task, 'failed', AFTER);
        for (let again = 0; ; ) {
            task.attempt++;
            this.#tell(task, 'started');
            try {
                const sends = { task: [], tell: [] };
                task.result = await this.#attempt(task, sends);
                this.#checkSends(sends);
                this.#end(task, 'done');
                return await this.#sent(sends);
            } catch (thrown) {
                const text = errorText(thrown);
                if (thrown instanceof Again && ++again < AGAIN_MOST) continue;
                task.failures++;
                this.#tell(task, 'attempt_failed', { text });
                const isStopped = this.#actors.get(task.actor)?.stage === 'stopped';
                if (isStopped || PERMANENT.test(text) || task.retries === 0) return this.#end(task, 'failed', text);
                if (task.failures > task.retries) return this.#end(task, 'dead', text);
            }
        }
    }

    #end(task, state, error = null) {
        Object.assign(task, { state, error, ended: Date.now() });
        this.#tell(task, state, error === null ? {} : { text: error });
    }

    /** What an attempt adds to `sends`. */
    #add(sends, more) {
        for (const [kind, orders] of Object.entries(more)) {
            if (orders.some((order) => order.at(-1).after ?? order.at(-1).after_any))
                throw (sends.refused = named('BAD_CHANGES: what an attempt submits comes after no task, and gets no results'));
            sends[kind].push(...orders);
        }
        return true;
    }

    #checkSends({ refused, task, tell }) {
        if (refused !== undefined) throw refused;
        for (const [method, , options] of task) this.#check(method, options);
        for (const [to, method, , options] of tell) this.#check(`${to.split('/')[0]}.${method}`, options);
    }

    async #sent({ tell = [], task = [] }) {
        for (const [to, ...message] of tell) await this.message(to, ...message);
        for (const order of task) await this.submit(...order);
    }

    /** One attempt: its result, as it comes back from the server. What it submits is added to `sends`. */
    async #attempt(task, sends) {
        const { id, method, attempt, options, checkpoint } = task;
        const session = {
            notify: async (what, [, ...told]) => {
                const [event, names] = TOLD[what];
                this.#tell(task, event, Object.fromEntries(names.map((name, at) => [name, copy(told[at])])));
            },
            request: async (what, params, signal) => {
                if (what === 'worker.submit') return this.#add(sends, copy(params[1]));
                if (what !== 'worker.checkpoint') return this.request(what, params, signal);
                task.checkpoint = copy(params[1]) ?? undefined;
                return true;
            },
        };
        const { traceparent, tracestate, batch } = options;
        const told = { task: id, call: id, tenant: '', attempt, traceparent, tracestate, batch, checkpoint };
        const run = (more) => this.#limited(new Context(session, id, method, { ...told, ...more }), task);
        return options.actor === undefined ? run({}) : this.#turn(options.actor, run, options.turn !== undefined);
    }

    /** Runs the handler, at most for the timeout of an attempt. */
    async #limited(context, { method, params, options }) {
        let timer;
        const late = new Promise((_, reject) => {
            if (options.timeout === undefined) return;
            timer = setTimeout(() => {
                reject(new ErgonError('DEADLINE', `the attempt took longer than its timeout, ${options.timeout} ms`));
                Context.cancel(context, 'deadline');
            }, options.timeout);
        });
        try {
            const given = withResults(copy(params), (id) => this.result(id));
            return copy((await Promise.race([this.#handler(method)(context, ...given), late])) ?? null);
        } finally {
            clearTimeout(timer);
        }
    }

    #handler(method) {
        const { handlers } = this.#all;
        if (Object.hasOwn(handlers, method)) return async (...given) => handlers[method](...given);
        const help = /^[a-z]+\.[a-z_]+$/.test(method) ? '; immediate() has few methods of the server: see server()' : '';
        throw named(`NO_METHOD: the app has no '${method}'${help}`);
    }

    /** A plain call: nothing of it is kept. */
    async #direct(method, given) {
        const request = async () => {
            throw named('BAD_PARAMS: only an attempt of a task can submit with its end');
        };
        const context = new Context({ notify: async () => {}, request }, 0, method, {});
        try {
            return await this.#handler(method)(context, ...given);
        } catch (error) {
            throw named(errorText(error));
        }
    }

    result(id) {
        const { state, error, result } = this.task(id);
        if (state !== 'done') throw named(error);
        return result;
    }

    // ---- actors ----

    actor(name) {
        const none = { version: 0, state: null, schema: 0, stage: 'active', messages: 0, turn: Promise.resolve() };
        if (!this.#actors.has(name)) this.#actors.set(name, none);
        return this.#actors.get(name);
    }

    drop(name) {
        return Object.assign(this.actor(name), { version: 0, state: null, schema: 0, stage: 'active' });
    }

    /** Leaves a message, and what it submits in turn; then come the steps of its actor. */
    async message(name, method, params, options = {}) {
        const type = name.split('/')[0];
        const retries = this.policy(name, 'retries', 3);
        const said = await this.submit(`${type}.${method}`, params, { retries, ...options, actor: name });
        const step = `${type}.step`;
        for (let i = 0; i < STEPS_MOST && Object.hasOwn(this.#all.handlers, step) && this.actor(name).stage === 'active'; i++)
            if ((await this.submit(step, [], { retries, actor: name })).state !== 'done') break;
        return said;
    }

    /** One turn at a time; what it sends comes behind it. */
    async #turn(name, run, isCall) {
        const actor = this.actor(name);
        if (isCall && actor.messages > 0) throw named(`DEADLOCK: ${name} has a turn, which may wait for this one`);
        const before = actor.turn;
        let done;
        actor.turn = new Promise((resolve) => (done = resolve));
        actor.messages++;
        await before;
        let result, changes;
        try {
            const { version, state, schema, stage, why } = actor;
            if (stage === 'stopped') throw named(`STOPPED: ${name} is stopped: ${why}`);
            [result, changes] = await run({ actor: name, version, state, schema });
            this.#change(name, actor, changes ?? {});
        } finally {
            actor.messages--;
            done();
        }
        await this.#sent(changes ?? {});
        return result;
    }

    #change(name, actor, { state, drop, sleep, wake, stop, remind }) {
        if (remind !== undefined) throw named('NO_METHOD: immediate() has no reminders: see server()');
        if (state !== undefined)
            Object.assign(actor, { state, version: actor.version + 1, schema: this.policy(name, 'schema', 0) });
        if (sleep !== undefined) actor.stage = 'sleeping';
        if (wake) actor.stage = 'active';
        if (stop !== undefined) Object.assign(actor, { stage: 'stopped', why: stop });
        if (drop) this.drop(name);
    }

    // ---- events and crons ----

    event(name) {
        if (!this.#events.has(name)) this.#events.set(name, { seq: 0, value: null, changed: new Later() });
        return this.#events.get(name);
    }

    setEvent(name, value) {
        const event = this.event(name);
        const { changed } = event;
        Object.assign(event, { seq: event.seq + 1, value, changed: new Later() });
        changed.resolve();
        return { seq: event.seq };
    }

    /** Those that were put, and those of the app, as if a worker of it had started. */
    get crons() {
        for (const [name, schedule, method, params, options] of this.#all.crons.splice(0))
            this.putCron(name, schedule, method, params, optionsOf('cron', options, 'cron()'));
        return this.#crons;
    }

    putCron(name, schedule, method, params, options) {
        this.#crons.set(name, { name, schedule, method, params, options, paused: false, next: null });
        return { name, next: null };
    }
}

// Methods of the server, as far as immediate() has them: functions of the InProcess, the parameters, and the caller's signal.
const METHODS = {
    'server.ping': () => 'pong',
    'worker.register': () => null,
    'worker.quiet': () => null,
    'task.submit': (place, order) => place.submit(...order),
    'task.submit_many': async (place, [orders, options]) => {
        const answers = [];
        for (const [method, params, own] of orders)
            answers.push(await place.submit(method, params, { ...options, ...own }).catch(({ message }) => ({ error: message })));
        return answers;
    },
    'task.call': async (place, order) => place.result((await place.submit(...order)).id),
    'task.wait': async (place, [ids]) => {
        const tasks = ids.map((id) => place.task(id));
        await Promise.all(tasks.map(({ over }) => over));
        return { ended: tasks.map((task) => place.shown(task)), open: [] };
    },
    'task.get': (place, [id, wanted]) => place.shown(place.task(id), wanted),
    'task.watch': (place, [id, { from = 1 }]) => ({
        id, events: place.task(id).history.filter(({ seq }) => seq >= from), missed: 0, ended: true,
    }),
    'task.list': (place, [filter]) => ({ tasks: place.list(filter ?? {}).map((task) => place.shown(task)), next: null }),
    'task.cancel': (place, [id]) => ({ ...idOf(place.task(id)), cancelled: false }),
    'task.forget': (place, [id]) => ({ id, forgotten: place.forget(id) }),
    'task.retry': async (place, [id]) => {
        const task = place.task(id);
        if (task.state === 'done') throw named('BAD_PARAMS: the task is done');
        await (task.over = place.run(Object.assign(task, { failures: 0 })));
        return idOf(task);
    },
    'actor.tell': (place, message) => place.message(...message),
    'actor.call': async (place, [name, method, params, options]) => {
        const retries = place.policy(name, 'callRetries', 0);
        return place.result((await place.message(name, method, params, { retries, ...options })).id);
    },
    'actor.get': (place, [name]) => {
        const { version, state, stage } = place.actor(name);
        return { actor: name, version, state, stage };
    },
    'actor.drop': (place, [name]) => (place.drop(name), { stage: 'active' }),
    'event.set': (place, [name, value]) => place.setEvent(name, value),
    'event.wait': async (place, [name, { from, timeout }], signal) => {
        const least = from ?? place.event(name).seq + 1;
        if (timeout === 0 && place.event(name).seq < least) return { seq: place.event(name).seq, timeout: true };
        while (place.event(name).seq < least) await place.event(name).changed.wait(signal);
        const { seq, value } = place.event(name);
        return { seq, value };
    },
    'cron.put': (place, cron) => place.putCron(...cron),
    'cron.list': (place) => [...place.crons.values()],
    'cron.delete': (place, [name]) => place.crons.delete(name),
    'cron.run': async (place, [name]) => {
        const cron = place.crons.get(name);
        if (cron === undefined) throw named(`NOT_FOUND: no cron ${name}`);
        return { id: (await place.submit(cron.method, cron.params, cron.options)).id };
    },
};

/** Lets the app run what it submits at once, until close(). index.d.ts says more. */
function immediate(app) {
    const client = Client.inProcess(new InProcess(app));
    const before = App.lend(app, client);
    const close = async () => {
        App.lend(app, before);
        await client.close();
    };
    return { client, close };
}

module.exports = { immediate };
