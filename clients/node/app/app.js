// A registry: tasks, actors and crons with their policies, and the middleware round their submission and their handlers.
'use strict';

const { checkerOf } = require('./checks');
const { typesOf } = require('../lib/actors');
const { Client, Task } = require('../lib/client');
const { ErgonError } = require('../lib/errors');
const { KINDS, told } = require('../lib/options');
const { RESULT, replaced } = require('../lib/results');
const { Context } = require('../lib/serving');

const MANY = 1000; // orders of a request
const AGAIN = 1000; // ms after which a cron is put again that could not be put
const NAME = /^[a-z0-9_.-]{1,64}$/;
const OWN = ['timeout', 'answerTimeout', 'signal']; // options of this client, not of a task

/** The same name. TypeError: the server would refuse it, and how to write it. */
function offered(name) {
    if (NAME.test(name)) return name;
    const other = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/^_|[^a-z0-9_.-]/g, '');
    throw new TypeError(`'${name}' is no name of a method, which has 1 to 64 of a-z, 0-9, _, . and -; write '${other}'`);
}

/** A task of an app: its name, and the options of its submissions. app.d.ts says what it shows. */
class AppTask {
    #send;

    constructor(send, name, options) {
        this.#send = send;
        this.name = name;
        this.options = Object.freeze(options);
    }

    submit(...params) {
        return this.#send({ how: 'submit', method: this.name, params, options: { ...this.options } });
    }

    call(...params) {
        return this.#send({ how: 'call', method: this.name, params, options: { ...this.options } });
    }

    order(...params) {
        return [this.name, params, this.options];
    }

    map(list, options) {
        return this.#send(Array.from(list, (each) => this.order(each)), options);
    }

    with(options) {
        return new AppTask(this.#send, this.name, checked({ ...this.options, ...options }, 'with()', OWN));
    }
}

/** The same options. TypeError, RangeError: there is no such option of a task, or not with this value. */
function checked(options, where, own = []) {
    const policy = Object.entries(options).filter(([name]) => !own.includes(name));
    told('task', Object.fromEntries(policy), where, own);
    return options;
}

class App {
    #options;
    #client = null; // its own
    #lent = null; // what takes its place in tests
    #handlers = {}; // name: [handler, check or null]
    #actors = {};
    #crons = [];
    #middleware = [];
    #out = null; // sends an order through the middleware

    constructor({ url = process.env.ERGON_URL, ...options } = {}) {
        this.url = url;
        this.#options = options;
    }

    get client() {
        if ((this.#lent ?? this.#client) !== null) return this.#lent ?? this.#client;
        if (this.url === undefined) throw new TypeError('an App needs a url: new App({ url }), or ERGON_URL');
        return (this.#client = new Client(this.url, this.#options));
    }

    /** For the package: another client, and null for its own again. Returns the one before. */
    static lend(app, client) {
        [client, app.#lent] = [app.#lent, client];
        return client;
    }

    // ---- the registry ----

    task(name, ...rest) {
        const handler = rest.pop();
        const { check, ...policy } = rest.pop() ?? {};
        if (typeof name !== 'string' || typeof handler !== 'function')
            throw new TypeError("a task is a name and a function: app.task('charge', { retries: 3 }, async (context, …) => …)");
        if (Object.hasOwn(this.#handlers, offered(name))) throw new TypeError(`this app has a task '${name}' already`);
        const send = (what, options) => (Array.isArray(what) ? this.#map(what, options) : this.#send(what));
        const task = new AppTask(send, name, checked(policy, 'a policy'));
        this.#handlers[name] = [handler, checkerOf(name, check)];
        return task;
    }

    tasks(...rest) {
        const handlers = rest.pop();
        return Object.fromEntries(Object.entries(handlers).map(([name, handler]) => [name, this.task(name, ...rest, handler)]));
    }

    actor(type, kind) {
        Object.keys(typesOf({ [type]: kind }).handlers).forEach(offered);
        if (Object.hasOwn(this.#actors, type)) throw new TypeError(`this app has a type '${type}' already`);
        this.#actors[type] = kind;
        return (key) => {
            const ref = this.client.actor(`${type}/${key}`);
            for (const how of ['call', 'tell'])
                ref[how] = (method, params = [], options = {}) =>
                    this.#send({ how, actor: ref.name, method, params, options: { ...options } });
            return ref;
        };
    }

    cron(name, schedule, ...rest) {
        const work = rest.pop();
        const { params = [], ...options } = rest.pop() ?? {};
        const task = work instanceof AppTask ? work : this.task(name, work);
        const policy = Object.entries(task.options).filter(([key]) => Object.hasOwn(KINDS.cron, key));
        const all = { ...Object.fromEntries(policy), ...options };
        told('cron', all, 'cron()', ['params']);
        this.#crons.push([name, schedule, task.name, params, all]);
        return task;
    }

    use(middleware) {
        this.#middleware.push(typeof middleware === 'function' ? { handle: middleware } : middleware);
        this.#out = null;
        return this;
    }

    /** Runs last(job) within the middleware of a side, the first outermost. */
    #round(side, last) {
        const within = (next, one) => (one[side] === undefined ? next : (job) => one[side](job, async () => next(job)));
        return this.#middleware.reduceRight(within, last);
    }

    // ---- callers ----

    async #send(order) {
        this.#out ??= this.#round('submit', ({ how, actor, method, params, options }) =>
            (actor === undefined ? this.client : this.client.actor(actor))[how](method, params, options));
        return this.#out(order);
    }

    /** The tasks of orders; one that is refused fails it. In one request for so many, unless there is middleware for each. */
    async #sendMany(orders) {
        const tasks = [];
        if (this.#middleware.some(({ submit }) => submit !== undefined))
            return Promise.all(orders.map(([method, params, options]) => this.#submitted(method, params, options)));
        for (let at = 0; at < orders.length; at += MANY)
            tasks.push(...(await this.client.submitMany(orders.slice(at, at + MANY))));
        const refused = tasks.find((task) => task instanceof ErgonError);
        if (refused !== undefined) throw refused;
        return tasks;
    }

    async #map(orders, options) {
        const tasks = await this.#sendMany(orders);
        const { ended } = await this.client.wait(tasks, options);
        const known = new Map(ended.map((task) => [task.id, task]));
        return tasks.map(({ id }) => Task.resultOf(known.get(id)));
    }

    #submitted(method, params, options, more) {
        return this.#send({ how: 'submit', method, params, options: { ...options, ...more } });
    }

    async chain(...orders) {
        let last;
        for (const [method, params, options = {}] of orders) {
            const given = last ? replaced(params, (one) => (one === RESULT ? last : one)) : params;
            last = await this.#submitted(method, given, options, last && { after: [last].concat(options.after ?? []) });
        }
        return last;
    }

    // ---- workers ----

    /** For the package: what work() takes. Handlers without middleware and check are those of the registry. */
    static partsOf(app) {
        const handlers = {};
        const has = app.#middleware.length > 0;
        const round = (job, run) => {
            Context.round(job.context, (order, send) => app.#round('submit', send)(order));
            return run(job);
        };
        for (const [name, [handler, check]] of Object.entries(app.#handlers)) {
            const last = ({ context, params }) => handler(context, ...(check === null ? params : check(params)));
            const run = app.#round('handle', last);
            const whole = (context, ...params) => round({ context, method: name, params }, run);
            handlers[name] = !has && check === null ? handler : whole;
        }
        for (const [name, handler] of Object.entries(typesOf(app.#actors).handlers)) {
            const run = app.#round('handle', async (job) => {
                const [result, changes] = await handler(job.context, ...job.params);
                job.changes = changes;
                return result;
            });
            handlers[name] = !has ? handler : async (context, ...params) => {
                const job = { context, method: name, params, changes: null };
                return [(await round(job, run)) ?? null, job.changes];
            };
        }
        return { handlers, actors: app.#actors, crons: [...app.#crons] };
    }

    async work(options = {}) {
        const { client } = this;
        let failed = null;
        const onReady = () => {
            options.onReady?.();
            this.#putCrons(client).catch((error) => {
                failed = error;
                client.stop();
            });
        };
        const { handlers, actors } = App.partsOf(this);
        await client.work(handlers, { ...options, actors: Object.keys(actors).length > 0 ? actors : undefined, onReady });
        if (failed !== null) throw failed;
    }

    /** Puts the crons, until the server has them: a second time does no harm. */
    async #putCrons(client) {
        for (let next = 0; next < this.#crons.length; ) {
            try {
                await client.cronPut(...this.#crons[next]);
                next++;
            } catch (error) {
                if (error.code === 'CLOSED') return;
                if (!(error instanceof ErgonError) || (error.remote && !error.retryable && error.code !== 'UNSURE')) throw error;
                await new Promise((resolve) => setTimeout(resolve, AGAIN).unref());
            }
        }
    }

    stop() {
        (this.#lent ?? this.#client)?.stop();
    }

    /** Closes its client; the next use opens another. */
    async close() {
        const client = this.#client;
        this.#client = null;
        await client?.close();
    }
}

module.exports = { App, AppTask };
