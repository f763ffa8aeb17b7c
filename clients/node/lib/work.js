// A registration as a worker: it is told to the server first on each connection, and ended in good order.
'use strict';

const os = require('os');
const { ErgonError } = require('./errors');
const { typesOf } = require('./actors');
const { check, msOf, wholeOf } = require('./options');
const { Broken, Unsent } = require('./protocol');
const { Serving } = require('./serving');

const LEAVE = 5000; // ms that handlers which are cancelled have to end
const SIGNALS = ['SIGTERM', 'SIGINT'];

const HOST = 64; // bytes of a host's name
const OPTIONS = ['slots', 'name', 'version', 'share', 'lease', 'grace', 'signals', 'secret', 'host', 'actors', 'onTrouble',
    'onReady'];

/** The name of this machine, as much of it as the server takes. */
function ourHost() {
    return Buffer.from(os.hostname()).subarray(0, HOST).toString().replace(/\ufffd+$/, '');
}

/** The parameters of worker.register. */
function registration(methods, { slots, name, version, share, lease, message, secret, actors, host = ourHost() }) {
    const time = (lease ?? undefined) === undefined ? undefined : wholeOf(lease, 'lease');
    return [methods, { slots, context: true, name, version, share, lease: time, message, secret, actors, host }];
}

/** What a client works, from work() to its end. */
class Worker {
    #params;
    #isOurHost; // nobody asked for it
    #grace;
    #isRegistered = false;
    #onTrouble;
    #onReady; // called once
    #end; // {promise, resolve, reject}: stop() was called; or what the server has against us
    #hurry; // stop() was called twice

    /** `message`: bytes that it takes; `log`: told of troubles if there is no onTrouble. */
    constructor(handlers, options, { message, log }) {
        const { slots = 1, grace = 30000, onTrouble, onReady, actors, ...others } = check(options, OPTIONS, 'work()');
        const trouble = onTrouble ?? ((error) => log.error(error));
        const types = typesOf(actors);
        const all = { ...types.handlers, ...handlers };
        this.serving = new Serving(all, slots, (session, signal) => this.#register(session, signal), trouble);
        if (actors !== undefined) others.actors = types.policies;
        this.#params = registration(Object.keys(all), { slots, message, ...others });
        this.#isOurHost = others.host === undefined;
        this.#grace = msOf(grace, 'grace');
        this.#onTrouble = onTrouble ?? (() => {}); // the client has a line of it
        this.#onReady = onReady ?? (() => {});
        this.#end = settled();
        this.#hurry = settled();
    }

    /** Ends it in good order; called again, at once. */
    stop() {
        if (this.#end.isOver) this.#hurry.resolve();
        this.#end.resolve();
    }

    /** A server that does not know `host` yet is asked without. What the caller asked for is never left out. */
    async #ask(session, signal) {
        const [methods, { ...options }] = this.#params;
        delete options.host;
        try {
            await session.request('worker.register', this.#params, signal);
        } catch (error) {
            if (!this.#isOurHost || !error.remote || error.code !== 'BAD_PARAMS' || !/\bhost\b/.test(error.text)) throw error;
            await session.request('worker.register', [methods, options], signal);
        }
    }

    async #register(session, signal) {
        if (this.#end.isOver) return;
        try {
            await this.#ask(session, signal);
        } catch (error) {
            const isFor = error instanceof ErgonError && error.remote && !error.retryable;
            if (isFor && !this.#isRegistered) this.#end.reject(error);
            else this.#onTrouble(error instanceof Unsent ? new Broken(session.ended) : error);
            throw error;
        }
        if (!this.#isRegistered) queueMicrotask(this.#onReady); // what it throws is not ours
        this.#isRegistered = true;
    }

    /**
     * Until stop(). begin() returns when the server of the connection that is up has been told; what it throws is thrown,
     * and what the server has against us.
     */
    async run(begin) {
        try {
            await Promise.race([begin().then(() => this.#end.promise), this.#end.promise]);
        } catch (error) {
            this.#end.resolve();
            this.#grace = 0;
            throw error;
        } finally {
            await this.#finish();
        }
    }

    async #finish() {
        await within(this.#grace, this.#leave(), this.#hurry.promise);
        this.serving.close();
        await within(LEAVE, this.serving.idle());
        await this.serving.handBack();
    }

    /** Tells the server that we take no more, and returns when no handler runs. */
    async #leave() {
        const { session } = this.serving;
        if (session?.ended === null)
            await session.request('worker.quiet', [], new AbortController().signal).catch(() => {}); // it has ended, then
        await this.serving.idle();
    }
}

/** A promise that others settle, and of which nobody need take notice. */
function settled() {
    const made = { isOver: false };
    made.promise = new Promise((resolve, reject) => {
        made.resolve = () => ((made.isOver = true), resolve());
        made.reject = (error) => ((made.isOver = true), reject(error));
    });
    made.promise.catch(() => {});
    return made;
}

/** Returns when one of the promises is there, or after so many ms. */
async function within(ms, ...promises) {
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([late, ...promises]);
    clearTimeout(timer);
}

/** Runs use() while SIGTERM and SIGINT call stop(). */
async function withSignals(stop, use) {
    for (const name of SIGNALS) process.on(name, stop);
    try {
        return await use();
    } finally {
        for (const name of SIGNALS) process.off(name, stop);
    }
}

module.exports = { OPTIONS, Worker, withSignals };
