// Requests that come the other way: the server asks, over whichever connection is up, and handlers of ours answer.
'use strict';

const { Again, ErgonError } = require('./errors');
const { TEXT, errorText, errorValue } = require('./failures');
const { Broken, Unsent } = require('./protocol');
const { ordered } = require('./results');

// Why a handler is cancelled whose task another worker shall have.
const HANDED_BACK = ['draining', 'stopping'];

/** One run of a handler, which gets it before the parameters. client.d.ts says what it shows. */
class Context {
    #session;
    #call;
    #until;
    #stop = new AbortController();
    #calls = 0; // of a turn, to actors
    #isCalling = false;
    #changes = {}; // of a turn
    #round = (order, send) => send(order); // the middleware of what it submits

    constructor(session, id, method, told) {
        this.method = method;
        this.task = told.task ?? null;
        this.attempt = told.attempt ?? 1;
        this.tenant = told.tenant ?? null;
        this.traceparent = told.traceparent ?? null;
        this.tracestate = told.tracestate ?? null;
        this.turn = told.actor === undefined ? null : told;
        this.checkpoint = told.checkpoint ?? null;
        this.batch = told.batch ?? null;
        this.callbackOf = told.callback_of ?? null;
        this.cancelled = null;
        this.#session = session;
        this.#call = told.call ?? id;
        this.#until = typeof told.left === 'number' ? Date.now() + told.left : null;
    }

    get left() {
        return this.#until === null ? null : Math.max(0, this.#until - Date.now());
    }

    get signal() {
        return this.#stop.signal;
    }

    progress(done, total = 0, text = '') {
        return this.#tell('worker.progress', [this.#call, done, total, text]);
    }

    partial(value) {
        return this.#tell('worker.partial', [this.#call, value]);
    }

    async submit(...given) {
        const orders = [];
        const add = async ({ method, params, options }) => orders.push(ordered('task', [method, params, options], 'submit()'));
        for (const [method, params = [], options = {}] of typeof given[0] === 'string' ? [given] : given)
            await this.#round({ how: 'submit', method, params, options: { ...options } }, add);
        await this.#send('task', orders);
    }

    async tell(to, ...message) {
        await this.#send('tell', [[to, ...ordered('task', message, 'tell()')]]);
    }

    async save(value) {
        const saved = await this.#ask('worker.checkpoint', [this.#call, value]);
        if (saved) this.checkpoint = value ?? null;
        return saved;
    }

    async #send(kind, orders) {
        if (this.turn === null) await this.#ask('worker.submit', [this.#call, { [kind]: orders }]);
        else (this.#changes[kind] ??= []).push(...orders);
    }

    async #ask(method, params) {
        try {
            return await this.#session.request(method, params, this.signal);
        } catch (error) {
            throw error instanceof Unsent ? new Broken(this.#session.ended) : error;
        }
    }

    /** For the package: the changes of the turn, to which those of its Actor belong. */
    static changesOf(context) {
        return context !== null && #changes in context ? context.#changes : undefined;
    }

    /** For the package: round(order, send) goes round each of its submissions. */
    static round(context, round) {
        context.#round = round;
    }

    /** For the package: a call that this turn makes. The next attempt makes it with the same key, and so gets the same answer. */
    static async callActor(context, to, method, params, options) {
        if (context.#isCalling) throw new ErgonError('BUSY', 'a turn has one call out at a time: await it before the next');
        context.#isCalling = true;
        const wire = { key: `${context.turn?.calls ?? context.task}/${++context.#calls}`, ...options, turn: context.#call };
        try {
            return await context.#ask('actor.call', [to, method, params, wire]);
        } finally {
            context.#isCalling = false;
        }
    }

    async #tell(method, params) {
        try {
            await this.#session.notify(method, params, new AbortController().signal);
        } catch (error) {
            if (!(error instanceof Unsent)) throw error; // else nobody waits for it
        }
    }

    /** For the package: the server, or its end, says that nobody waits any more. */
    static cancel(context, why) {
        if (context.cancelled !== null) return;
        context.cancelled = why;
        context.#stop.abort(new ErgonError('CANCELLED', why));
    }

    static isCall(context, call) {
        return context.#call === call;
    }
}

/**
 * Handlers, by name, answer the requests of the server, at most `slots` at a time. A connection on which more are open is
 * answered BUSY; what comes while handlers of a connection that was lost still hold their slots waits for these. What a handler
 * returns is the answer, and so is what it throws; onTrouble(error) is told of the latter, unless it is an ErgonError.
 *
 * begin(session, signal) is called first on each connection, to tell the server what we serve. What it throws ends the
 * connection, and the next one is tried after a pause.
 */
class Serving {
    #handlers;
    #slots;
    #begin;
    #onTrouble;
    #open = new Map(); // session: its requests that are not answered, each {id, context, answered}
    #running = 0; // handlers
    #waiting = []; // requests that wait for a slot
    #idle = []; // who waits until no handler runs
    #begun = {}; // session: that begin() was called with; done: the promise of how that went
    #closed = false;

    constructor(handlers, slots, begin, onTrouble) {
        for (const [name, handler] of Object.entries(handlers))
            if (typeof handler !== 'function') throw new TypeError(`the handler of ${name} is no function`);
        this.#handlers = new Map(Object.entries(handlers));
        this.#slots = slots;
        this.#begin = begin;
        this.#onTrouble = onTrouble;
    }

    /** The last one that was told. */
    get session() {
        return this.#begun.session;
    }

    /** Once for each session, whoever comes first. */
    begin(session, signal) {
        if (this.#begun.session !== session) {
            const done = this.#tell(session, signal);
            done.catch(() => {});
            this.#begun = { session, done };
        }
        return this.#begun.done;
    }

    async #tell(session, signal) {
        try {
            await this.#begin(session, signal);
        } catch (error) {
            throw error instanceof Unsent ? new Broken(session.ended) : error;
        }
    }

    /** A request, from the session that received it. */
    take(session, id, method, params) {
        const handler = this.#handlers.get(method);
        const open = this.#open.get(session) ?? new Set();
        if (method === 'worker.ping') session.reply(id, null);
        else if (handler === undefined) session.reply(id, `NO_METHOD: this worker does not offer ${method.slice(0, 80)}`);
        else if (this.#closed) session.reply(id, errorText(new Again()));
        else if (open.size >= this.#slots) session.reply(id, 'BUSY: all slots of this worker are taken');
        else {
            params = Array.isArray(params) ? params : params === null ? [] : [params];
            const told = params.at(-1)?.call !== undefined ? params.pop() : {};
            const one = { session, id, context: new Context(session, id, method, told), handler, params, answered: false };
            this.#open.set(session, open.add(one));
            this.#waiting.push(one);
            this.#next();
        }
    }

    #next() {
        while (this.#running < this.#slots && this.#waiting.length > 0) {
            this.#running++;
            this.#run(this.#waiting.shift()).finally(() => {
                this.#running--;
                this.#next();
            });
        }
        if (this.#running === 0) this.#idle.splice(0).forEach((go) => go());
    }

    /** The server says that nobody waits for a call. */
    told(session, call, why) {
        if (why === 'draining') session.drain('the server hands back what its workers have');
        for (const { context } of this.#open.get(session) ?? [])
            if (Context.isCall(context, call)) Context.cancel(context, why);
    }

    async #run(one) {
        let [error, result] = [null, null];
        const { context, handler, params } = one;
        try {
            if (context.cancelled !== null) throw context.signal.reason;
            result = (await handler(context, ...params)) ?? null;
        } catch (thrown) {
            error = this.#failed(one, thrown);
        }
        await this.#answer(one, error, result);
    }

    /** The answer to a request whose handler threw this, whatever that is. */
    #failed({ context, session }, thrown) {
        let error;
        try {
            const isCancelled = context.cancelled !== null && (thrown === context.signal.reason || thrown?.name === 'AbortError');
            if (isCancelled) return errorText(HANDED_BACK.includes(context.cancelled) ? new Again() : context.signal.reason);
            error = errorValue(thrown, session.limits);
        } catch {
            error = 'FAILED: the handler threw a value that has no text';
        }
        if (!(thrown instanceof ErgonError)) this.#onTrouble(thrown);
        return error;
    }

    /** The slot is taken until the socket has the answer. */
    async #answer(one, error, result) {
        if (one.answered) return;
        one.answered = true;
        const { session, id } = one;
        try {
            await session.answer(id, error, result).catch((thrown) => {
                if (thrown instanceof Unsent) throw thrown;
                const large = thrown instanceof ErgonError;
                const text = large ? thrown.message : `INTERNAL: the result is not for MessagePack: ${thrown}`.slice(0, TEXT);
                return session.answer(id, text, null);
            });
        } catch (thrown) {
            if (!(thrown instanceof Unsent)) session.end(`an answer cannot be sent: ${thrown}`); // nobody waits for ever
        } finally {
            this.#open.get(session)?.delete(one);
        }
    }

    /** Its connection has ended. */
    lost(session) {
        for (const { context } of this.#open.get(session) ?? []) Context.cancel(context, 'lost');
        this.#open.delete(session);
    }

    /** Returns when no handler runs. */
    async idle() {
        if (this.#running > 0) await new Promise((resolve) => this.#idle.push(resolve));
    }

    /** Cancels what still runs. */
    close() {
        this.#closed = true;
        for (const open of this.#open.values()) for (const { context } of open) Context.cancel(context, 'stopping');
    }

    /** The tasks of handlers that go on regardless, for another worker; nobody waits for these any more. */
    async handBack() {
        const left = [...this.#open.values()].flatMap((open) => [...open]);
        await Promise.all(left.map((one) => this.#answer(one, errorText(new Again()), null)));
    }
}

module.exports = { Context, Serving };
