// A registration as a worker: it is told to the server first on each connection, and ended in good order.
'use strict';

const { ErgonError } = require('./errors');
const { Broken, Unsent } = require('./protocol');
const { Serving } = require('./serving');

const LEAVE = 5000; // ms that handlers which are cancelled have to end
const SIGNALS = ['SIGTERM', 'SIGINT'];

/** The parameters of worker.register. */
function registration(methods, { slots, name, version, share, lease, message }) {
    const options = Object.entries({ slots, context: true, name, version, share, lease, message });
    return [methods, Object.fromEntries(options.filter(([, value]) => value !== undefined))];
}

/** What a client works, from work() to its end. */
class Worker {
    #params;
    #grace;
    #isRegistered = false;
    #onTrouble;
    #end; // {promise, resolve, reject}: stop() was called; or what the server has against us
    #hurry; // stop() was called twice

    constructor(handlers, { slots = 1, grace = 30000, onTrouble = console.error, ...options }) {
        this.serving = new Serving(handlers, slots, (session, signal) => this.#register(session, signal), onTrouble);
        this.#params = registration(Object.keys(handlers), { slots, ...options });
        this.#grace = grace;
        this.#onTrouble = onTrouble;
        this.#end = settled();
        this.#hurry = settled();
    }

    /** Ends it in good order; called again, at once. */
    stop() {
        if (this.#end.isOver) this.#hurry.resolve();
        this.#end.resolve();
    }

    async #register(session, signal) {
        if (this.#end.isOver) return;
        try {
            await session.request('worker.register', this.#params, signal);
        } catch (error) {
            const isFor = error instanceof ErgonError && error.remote && !error.retryable;
            if (isFor && !this.#isRegistered) this.#end.reject(error);
            else this.#onTrouble(error instanceof Unsent ? new Broken(session.ended) : error);
            throw error;
        }
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

module.exports = { Worker, withSignals };
