// Requests that come the other way: the server asks, over whichever connection is up, and a handler of ours answers.
'use strict';

const { ErgonError } = require('./errors');
const { Broken, Unsent } = require('./protocol');

const CODE = /^[A-Z_][A-Z0-9_]{0,31}$/;
const TEXT = 4000; // characters of an error

/** What a handler threw, as an error of MessagePack-RPC: "CODE: text". */
function errorText(error) {
    if (error instanceof ErgonError && CODE.test(error.code)) return `${error.code}: ${error.text.slice(0, TEXT)}`;
    return `FAILED: ${error}`.slice(0, TEXT);
}

/**
 * handler(method, params, signal) answers the requests of the server, at most `slots` at a time; further ones are answered
 * BUSY. What it returns is the answer, and so is what it throws. The signal is aborted when the connection of the request is
 * lost, or the client closed; the slot is taken until the handler has ended.
 *
 * begin(session, signal) is called first on each connection, to tell the server what we serve. What it throws ends the
 * connection, and the next one is tried after a pause.
 */
class Serving {
    #handler;
    #slots;
    #begin;
    #running = new Set(); // {session, stop} of each request

    #begun = {}; // session: that begin() was called with; done: the promise of how that went

    constructor(handler, slots, begin) {
        this.#handler = handler;
        this.#slots = slots;
        this.#begin = begin;
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
        if (this.#running.size >= this.#slots) {
            session.refuse(id, 'BUSY: all slots of this client are taken');
            return;
        }
        const one = { session, stop: new AbortController() };
        this.#running.add(one);
        this.#run(one, id, method, Array.isArray(params) ? params : params === null ? [] : [params]);
    }

    async #run(one, id, method, params) {
        let [error, result] = [null, null];
        try {
            result = (await this.#handler(method, params, one.stop.signal)) ?? null;
        } catch (thrown) {
            error = errorText(thrown);
        }
        try {
            await this.#answer(one.session, id, error, result);
        } catch (thrown) {
            if (!(thrown instanceof Unsent)) one.session.end(`an answer cannot be sent: ${thrown}`); // nobody waits for ever
        } finally {
            this.#running.delete(one);
        }
    }

    async #answer(session, id, error, result) {
        try {
            await session.answer(id, error, result);
        } catch (thrown) {
            if (thrown instanceof Unsent) throw thrown;
            const large = thrown instanceof ErgonError;
            await session.answer(id, large ? thrown.message : `INTERNAL: the result is not for MessagePack: ${thrown}`, null);
        }
    }

    /** Its connection has ended. */
    lost(session) {
        for (const { session: of, stop } of this.#running)
            if (of === session) stop.abort(new Broken(session.ended));
    }
}

module.exports = { Serving };
