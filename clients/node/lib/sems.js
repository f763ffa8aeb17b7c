// Named semaphores of the server: permits that we hold, and keep as long as we live.
'use strict';

const { ErgonError, named } = require('./errors');
const { check, waitOf, wholeOf } = require('./options');
const { Broken, Later, Unsent, until } = require('./protocol');

const WAIT = 24 * 3600000; // ms that the server is asked to wait at a time
const ANSWER = 5000; // ms beyond the wait that we wait for the answer
const LOST = ['FENCED', 'NOT_FOUND', 'DENIED']; // of a renewal: somebody else may have the permits
const BUSY = ['BUSY', 'DRAINING', 'MEMORY'];
const MARGIN = 1000; // ms before others may have them, at which we let go

const now = () => performance.now();
const isOthers = (error) => error.remote && LOST.includes(error.code);
const isGone = (error) => error instanceof Unsent || error instanceof Broken;

/** Returns after so many ms, when that is over, or throws the signal's reason. */
async function pass(ms, signal, over = new Later()) {
    const enough = new AbortController();
    let timer;
    const late = new Promise((resolve) => (timer = setTimeout(resolve, Math.max(0, ms))));
    try {
        await until(Promise.race([late, over.wait(enough.signal).catch(() => {})]), signal);
    } finally {
        enough.abort();
        clearTimeout(timer);
    }
}

/** Permits that are ours until release(). client.d.ts says what it shows. `peer` gives the session that is up. */
class Hold {
    #peer;
    #session;
    #secret;
    #ttl;
    #time; // ms that they stay ours without a word
    #safe; // until then they are ours, whatever happens
    #end = new AbortController(); // of keep()
    #lost = new AbortController();

    constructor(peer, name, { grace, ttl }) {
        this.#peer = peer;
        this.#ttl = ttl;
        this.#time = Math.min(grace, ttl ?? grace);
        this.name = name;
        this.fence = null;
        this.permits = null;
        this.lost = null;
    }

    /** Aborted when they are lost. */
    get signal() {
        return this.#lost.signal;
    }

    /** For the package: they were granted. */
    async begin(session, sent, answer, signal) {
        this.#session = session;
        this.#secret = answer.hold;
        this.fence = answer.fence;
        this.permits = answer.permits ?? null;
        this.#renewed(sent);
        if (now() - sent > this.#time / 3) await this.#check(signal);
        this.#keep().catch(() => {}); // release() has ended it
    }

    /** Renews what came late. Where that fails nobody has them for long: whoever asks again is not to wait for them. */
    async #check(signal) {
        try {
            await this.#renew(signal);
        } catch (error) {
            if (!isOthers(error)) this.release();
            throw error;
        }
    }

    /** It counts from when we asked, which is before the server counts from. */
    #renewed(sent) {
        this.#safe = sent + this.#time - Math.min(MARGIN, this.#time / 4);
    }

    renew() {
        return this.#renew(this.#end.signal);
    }

    async #renew(signal) {
        const session = await this.#peer.session(signal);
        const method = session === this.#session ? 'sem.renew' : 'sem.resume';
        const options = this.#ttl === undefined ? {} : { ttl: this.#ttl };
        const sent = now();
        await session.request(method, [this.name, this.#secret, options], signal);
        this.#session = session;
        this.#renewed(sent);
    }

    async #keep() {
        const end = this.#end.signal;
        while (this.lost === null) {
            await pass(this.#time / 3, end, this.#session.over);
            const late = new AbortController();
            const reason = named('FENCED: the permits could not be renewed in time');
            const timer = setTimeout(() => late.abort(reason), Math.max(0, this.#safe - now()));
            const abort = () => late.abort(end.reason);
            end.addEventListener('abort', abort, { once: true });
            try {
                await this.#renewSomehow(late.signal);
            } catch (error) {
                if (end.aborted) return;
                this.lost = error;
                this.#lost.abort(error);
            } finally {
                clearTimeout(timer);
                end.removeEventListener('abort', abort);
            }
        }
    }

    async #renewSomehow(signal) {
        for (;;) {
            try {
                return await this.#renew(signal);
            } catch (error) {
                if (signal.aborted || error.code === 'CLOSED' || isOthers(error)) throw error;
                if (!isGone(error) && !(error instanceof ErgonError)) throw error;
            }
            await pass(this.#time / 20, signal);
        }
    }

    async release() {
        this.#end.abort(new ErgonError('CLOSED', 'the permits were given back'));
        if (this.lost !== null || this.#secret === undefined) return false;
        const secret = this.#secret;
        this.#secret = undefined;
        const left = Math.ceil(Math.max(1000, this.#safe - now()));
        let timer;
        const late = new Promise((resolve) => (timer = setTimeout(resolve, left, false)));
        return Promise.race([this.#giveBack(secret, left), late]).finally(() => clearTimeout(timer));
    }

    /** Sends that past the calls that wait for their turn, until it is done. Another connection has to come in so many ms. */
    async #giveBack(secret, left) {
        const [late, never] = [AbortSignal.timeout(left), new AbortController().signal];
        for (let session = this.#session, attempt = 0; ; attempt++) {
            try {
                if (session.ended !== null) session = await this.#peer.session(late);
                return await session.request('sem.release', [this.name, secret], never);
            } catch (error) {
                const isOver = error === late.reason || error.code === 'CLOSED';
                if (isOver || (error.remote && !error.retryable && error.code !== 'UNSURE')) return false;
            }
            await pass(Math.min(1000, 100 * 2 ** attempt), never, session.over);
        }
    }

    /** For the package: they were granted to nobody. */
    static drop(hold, session, answer) {
        hold.#session = session;
        hold.#secret = answer?.hold;
        hold.#renewed(now());
        hold.release();
    }
}

const OPTIONS = ['permits', 'of', 'wait', 'grace', 'ttl', 'durable', 'signal'];

async function acquire(peer, name, options = {}) {
    const { wait, signal = new AbortController().signal, ...others } = check(options, OPTIONS, 'acquire()');
    const end = now() + (waitOf(wait, 'wait') ?? Infinity);
    const grace = wholeOf(others.grace ?? 10000, 'grace');
    const ttl = (others.ttl ?? undefined) === undefined ? undefined : wholeOf(others.ttl, 'ttl');
    const wanted = { permits: 1, ...others, grace, ttl };
    for (let attempt = 0; ; attempt++) {
        const hold = new Hold(peer, name, { grace, ttl });
        try {
            const timed = (more) => ({ timeout: Math.max(0, end - now()) + more, signal });
            const session = await peer.within(timed(0), 'sem.acquire', (inner) => peer.session(inner));
            return await peer.within(timed(ANSWER), 'sem.acquire', async (inner) => {
                const sent = now();
                const params = [name, { ...wanted, wait: Math.round(Math.min(WAIT, Math.max(0, end - sent))) }];
                const answer = await session.request('sem.acquire', params, inner, (late) => Hold.drop(hold, session, late));
                await hold.begin(session, sent, answer, inner);
                return hold;
            });
        } catch (error) {
            if (isGone(error)) continue; // whoever waited has lost the place
            if (!error.remote) throw error;
            if (error.code === 'DEADLINE' && end === Infinity) continue;
            if (isOthers(error) && hold.fence !== null) continue;
            if (now() >= end || !BUSY.includes(error.code)) throw error;
        }
        await pass(Math.min(10000, 100 * 2 ** attempt, end - now()), signal);
    }
}

async function holding(peer, name, options, use) {
    const hold = await acquire(peer, name, options);
    const [used] = await Promise.allSettled([(async () => use(hold))()]);
    await hold.release();
    if (hold.lost !== null) throw hold.lost; // whatever the other has come to
    if (used.status === 'rejected') throw used.reason;
    return used.value;
}

module.exports = { OPTIONS, acquire, holding };
