// The client: a connection that comes back, calls, and tasks that last.
'use strict';

const events = require('events');
const { Actor, turn } = require('./actors');
const { Again, ErgonError, Permanent, named } = require('./errors');
const { Ext } = require('../msgpack');
const methods = require('./methods');
const { News, logOf } = require('./news');
const { check, idOf, idsOf, msOf, scheduleOf, told, waitOf } = require('./options');
const { Address, Broken, Later, Session, Unsent, until } = require('./protocol');
const { RESULT, Result, ordered } = require('./results');
const sems = require('./sems');
const work = require('./work');

const POLL = 30000; // ms that the server waits for something to tell
const POLL_LONGEST = 45000; // ms that we wait for the server then
const POLLS = 1000; // long polls on a connection at a time; the server takes 1024
const PAGE = 1000; // events
const WAITED = 1024; // ids that the server takes at a time
const TIMER_LONGEST = 2 ** 31 - 1; // ms; a timer of Node's that is set for longer fires at once
const PAUSE = [100, 10000]; // ms before a server that refuses is asked again
// Errors after which what does no harm is asked again, and those after which a long poll is.
const STOPPING = ['DRAINING'];
const FULL = ['DRAINING', 'BUSY', 'MEMORY'];

// The options: of a client, of a call, of a submission beside those of the task, and of what else has some.
const CALL = ['timeout', 'signal'];
const OWN = ['answerTimeout', 'signal'];
const OPTIONS = {
    client: ['token', 'ca', 'cert', 'key', 'serverName', 'timeout', 'connectTimeout', 'backoff', 'inFlight', 'messageMax',
        'onNotification', 'log'],
    call: CALL,
    request: [...CALL, 'again'],
    submit: OWN,
    wait: [...CALL, 'any', 'result'],
    watch: ['from', 'signal'],
    eventWait: [...CALL, 'from'],
    work: work.OPTIONS,
    sem: sems.OPTIONS,
};

const closed = () => new ErgonError('CLOSED', 'the client is closed');

/** Milliseconds: doubled at each attempt, and the upper half by chance, so that not all clients come back at once. */
function pause(attempt, [least, most]) {
    const whole = Math.min(most, least * 2 ** Math.min(attempt, 30));
    return (whole * (1 + Math.random())) / 2;
}

/** Calls act() after so many milliseconds, never if they are not finite; returns what prevents it. */
function after(ms, act) {
    let timer;
    const arm = (left) => {
        const rest = left - TIMER_LONGEST;
        timer = setTimeout(() => (rest > 0 ? arm(rest) : act()), Math.min(left, TIMER_LONGEST));
    };
    if (Number.isFinite(ms)) arm(ms);
    return () => clearTimeout(timer);
}

/** Returns after so many milliseconds, or throws the signal's reason. */
async function sleep(ms, signal) {
    let disarm;
    try {
        await until(new Promise((resolve) => (disarm = after(ms, resolve))), signal);
    } finally {
        disarm();
    }
}

/** So many at a time; the others wait, in order. */
class Turns {
    constructor(free) {
        this.free = free;
        this.waiting = new Set();
    }

    async take(signal) {
        if (this.free > 0) {
            this.free--;
            return;
        }
        let go;
        const turn = new Promise((resolve) => (go = resolve));
        this.waiting.add(go);
        try {
            await until(turn, signal);
        } catch (error) {
            if (!this.waiting.delete(go)) this.give(); // it came all the same
            throw error;
        }
    }

    give() {
        const [first] = this.waiting;
        if (first === undefined) this.free++;
        else {
            this.waiting.delete(first);
            first();
        }
    }
}

/** Checks a part of a map that the server answered. */
function part(answer, name, right) {
    const value = answer?.[name];
    if (!right(value)) throw new ErgonError('PROTOCOL', `the server's answer has no ${name}`);
    return value;
}

const isString = (value) => typeof value === 'string';

/** What the client was asked for, with its defaults, in milliseconds. */
function settings({ timeout, connectTimeout = 10000, backoff = [100, 10000], ...others }) {
    if (!Array.isArray(backoff) || backoff.length !== 2)
        throw new TypeError("backoff is the least and the most time between attempts to connect, as [100, '10s']");
    return {
        inFlight: 1000, messageMax: 32 * 2 ** 20, ...others,
        timeout: waitOf(timeout), connectTimeout: waitOf(connectTimeout, 'connectTimeout'),
        backoff: backoff.map((ms) => msOf(ms, 'backoff')),
    };
}

/** Runs work(signal) until its time is over or the caller's signal says so. */
async function within({ timeout, signal }, what, work) {
    const stop = new AbortController();
    const abort = () => stop.abort(signal.reason);
    const late = () => stop.abort(new ErgonError('TIMEOUT', `no answer of ${what} in time`));
    const disarm = after(timeout, late);
    if (signal !== undefined) {
        if (signal.aborted) abort();
        events.setMaxListeners(0, signal); // many calls may share it
        signal.addEventListener('abort', abort, { once: true });
    }
    try {
        return await work(stop.signal);
    } finally {
        disarm();
        signal?.removeEventListener('abort', abort);
    }
}

class Client extends events.EventEmitter {
    static OPTIONS = OPTIONS; // for the test of the types
    #address;
    #options;
    #calls;
    #polls;
    #stop = new AbortController(); // close() aborts it
    #keeper = null; // the promise of what connects, and what follows belongs to it
    #session = null; // the last one that was begun
    #up = new Later(); // of the next session, or of the one that is up
    #tried = new Later(); // the first attempt is over
    #worker; // who answers requests of the server
    #spent; // what served for a worker that has ended: it hands back what still comes over its session
    #log;
    #news;
    #wasUp = false; // there was a connection
    #isAsked = false; // connect() tells its caller of the first attempt
    #isRef = true; // we keep the process alive
    #resting; // the timer before another attempt

    constructor(url, options = {}) {
        super();
        this.#address = new Address(url, check(options, OPTIONS.client, 'a client'));
        this.#options = settings(options);
        this.#log = logOf(options.log);
        this.#news = new News(url, this.#log);
        this.#calls = new Turns(this.#options.inFlight);
        this.#polls = new Turns(POLLS);
    }

    /** For the package: a client of what answers within this process, in place of a session. */
    static inProcess(session) {
        const client = new Client('unix:///in-process', { log: false });
        client.#keeper = Promise.resolve();
        client.#tried.resolve();
        client.#up.session = session;
        client.#up.resolve(session);
        return client;
    }

    // ---- the connection ----

    async connect() {
        this.#isAsked = this.#keeper === null;
        this.#start();
        try {
            await this.#tried.wait();
        } catch (error) {
            await this.close();
            throw error;
        }
        return this;
    }

    async close() {
        if (this.#stop.signal.aborted) return this.#keeper;
        this.#stop.abort(closed());
        const { session } = this.#up;
        this.#up.reject(closed());
        this.#tried.reject(closed());
        await session?.finish();
        await this.#keeper;
        for (let i = 0; i < 2; i++) this.#worker?.stop(); // at once
    }

    #start() {
        if (this.#stop.signal.aborted) throw closed();
        this.#keeper ??= this.#keep().catch((error) => {
            if (!this.#stop.signal.aborted) throw error;
        });
    }

    /** Connects whenever there is no connection, as long as the client lives. */
    async #keep() {
        const { signal } = this.#stop;
        for (let attempt = 0; ; attempt++) {
            try {
                const session = await this.#open();
                await this.#begin(session);
                attempt = 0;
                this.#tried.resolve();
                if (session.ended === null) {
                    this.#tell(this.#wasUp ? 'reconnect' : 'connect', null);
                    this.#wasUp = true;
                    this.#up.session = session;
                    this.#up.resolve(session);
                }
                await session.over.wait();
            } catch (error) {
                if (!(error instanceof ErgonError)) throw error;
                if (!signal.aborted) this.#refused(error);
                this.#tried.reject(error);
                if (error.code === 'AUTH') {
                    this.#up.reject(error);
                    this.#up = new Later();
                }
            }
            await this.#rest(pause(attempt, this.#options.backoff));
        }
    }

    /** As sleep(), but that unref() lets the process end meanwhile. */
    async #rest(ms) {
        try {
            await until(new Promise((resolve) => {
                this.#resting = setTimeout(resolve, Math.min(ms, TIMER_LONGEST));
                if (!this.#isRef) this.#resting.unref();
            }), this.#stop.signal);
        } finally {
            clearTimeout(this.#resting);
        }
    }

    /** An event for programs, and its line for people; listeners are called when what is under way has been done. */
    #tell(name, reason, isOurs = false) {
        if (name !== 'refused' || this.#wasUp || !this.#isAsked) this.#news[name](reason, isOurs);
        process.nextTick(() => this.emit(name, { address: this.#address.url, reason }));
    }

    #refused(error) {
        const where = `${this.#address.url}: `; // which stands in the event, too
        this.#tell('refused', error.code === 'UNREACHABLE' && !error.remote ? error.text.replace(where, '') : error.message);
        this.#isAsked = false;
    }

    ref() {
        return this.#keepAlive(true);
    }

    unref() {
        return this.#keepAlive(false);
    }

    #keepAlive(isRef) {
        this.#isRef = isRef;
        const what = isRef ? 'ref' : 'unref';
        this.#session?.socket[what]();
        this.#resting?.[what]();
        return this;
    }

    async #open() {
        const { connectTimeout, messageMax } = this.#options;
        const on = {
            onNotification: (...told) => this.#told(...told),
            onRequest: (...request) => this.#asked(...request),
            onEnd: () => this.#down(session),
            onDrain: (_, text) => this.#tell('drained', text),
        };
        const session = new Session(this.#address, { messageMax, ...on });
        this.#session = session;
        if (!this.#isRef) session.socket.unref();
        const stop = { timeout: connectTimeout, signal: this.#stop.signal };
        try {
            await within(stop, '', (signal) => session.introduce(signal));
        } catch (error) {
            session.end('the client closed it');
            if (error.code !== 'TIMEOUT') throw error;
            throw new ErgonError('UNREACHABLE', `${this.#address.url}: no connection within ${connectTimeout} ms`);
        }
        return session;
    }

    /** A session has ended: from now on calls wait for the next one. */
    #down(session) {
        this.#worker?.serving.lost(session);
        if (this.#up.session !== session) return;
        const isOurs = this.#stop.signal.aborted;
        this.#tell('disconnect', isOurs ? 'the client closed it' : session.ended, isOurs || session === this.#spent?.session);
        if (!isOurs) this.#up = new Later();
    }

    /** Runs use(session) with the session that is up, and again if that ended before anything was sent. */
    async #with(signal, use) {
        for (;;) {
            this.#start();
            const session = await this.#up.wait(signal);
            try {
                return await use(session);
            } catch (error) {
                if (!(error instanceof Unsent)) throw error;
            }
        }
    }

    // ---- what the server asks and tells ----

    #asked(session, id, method, params) {
        const serving = session === this.#spent?.session ? this.#spent : this.#worker?.serving;
        serving?.take(session, id, method, params);
        return serving !== undefined;
    }

    #told(session, method, params) {
        if (method === 'worker.cancel' && this.#worker && params.length >= 2) this.#worker.serving.told(session, ...params);
        else this.#options.onNotification?.(method, params);
    }

    /** Tells the server what we serve, if anything; what prevents that ends the connection. */
    async #begin(session) {
        const stop = { timeout: this.#options.connectTimeout, signal: this.#stop.signal };
        if (this.#worker === undefined) return;
        try {
            await within(stop, 'the registration', (signal) => this.#worker.serving.begin(session, signal));
        } catch (error) {
            session.end(`the server was not told what we serve: ${error.message}`);
            throw error;
        }
    }

    async work(handlers, options = {}) {
        if (this.#worker !== undefined)
            throw new Error('this client works already: another registration needs a client of its own');
        const worker = new work.Worker(handlers, options, { message: this.#options.messageMax, log: this.#log });
        const run = () => worker.run(() => this.#offer());
        this.#worker = worker;
        try {
            await (options.signals === false ? run() : work.withSignals(() => worker.stop(), run));
        } finally {
            this.#spent = worker.serving;
            this.#worker = undefined;
        }
    }

    stop() {
        this.#worker?.stop();
    }

    /** What we serve, to the server of the connection that is up; those that follow are told as they open. */
    async #offer() {
        this.#start();
        let session = await this.#up.wait();
        if (session === this.#spent?.session) {
            session.end('the client closed it');
            session = await this.#up.wait();
        }
        await this.#begin(session).catch((error) => {
            if (!(error instanceof ErgonError)) throw error; // else it is tried on the next
            if (error.remote) this.#refused(error);
        });
    }

    // ---- calls ----

    /** The answer, asked for again after a broken connection and after the errors of `again`, unless that is undefined. */
    async #once(method, params, signal, turns, again) {
        await turns.take(signal);
        try {
            for (let attempt = 0; ; attempt++) {
                try {
                    return await this.#with(signal, (session) => session.request(method, params, signal));
                } catch (error) {
                    if (error instanceof Broken && this.#stop.signal.aborted) throw closed();
                    if (error instanceof Broken && again !== undefined) continue;
                    if (!error.remote || !again?.includes(error.code)) throw error;
                }
                await sleep(pause(attempt, PAUSE), signal);
            }
        } finally {
            turns.give();
        }
    }

    #timed({ timeout, signal }) {
        return { timeout: waitOf(timeout) ?? this.#options.timeout, signal };
    }

    async request(method, params = [], options = {}) {
        const { again = false } = check(options, OPTIONS.request, 'request()');
        return within(this.#timed(options), method, (signal) =>
            this.#once(method, params, signal, this.#calls, again ? STOPPING : undefined));
    }

    async call(method, params = [], { timeout, signal, ...options } = {}) {
        const order = ordered('task', [method, params, options], 'call()', CALL);
        if (Object.keys(order[2]).length === 0) return this.request(method, params, { timeout, signal });
        return this.request('task.call', order, { timeout, signal });
    }

    async notify(method, params = [], options = {}) {
        check(options, OPTIONS.call, 'notify()');
        return within(this.#timed(options), method, (signal) =>
            this.#with(signal, (session) => session.notify(method, params, signal)));
    }

    // ---- tasks that last ----

    async submit(method, params = [], { answerTimeout: timeout, signal, ...options } = {}) {
        const order = ordered('task', [method, params, options], 'submit()', OWN);
        const answer = await this.request('task.submit', order, { timeout, signal, again: order[2].key !== undefined });
        return new Task(this, part(answer, 'id', isString), answer);
    }

    async submitMany(orders, { answerTimeout: timeout, signal, ...options } = {}) {
        const wire = told('task', options, 'submitMany()', OWN);
        const shared = options.after === undefined ? {} : { after: options.after };
        const each = ([method, params, own]) =>
            ordered('task', [method, params, { ...shared, ...own }], 'an order of submitMany()');
        const answers = await this.request('task.submit_many', [Array.from(orders, each), wire], { timeout, signal });
        if (!Array.isArray(answers)) throw new ErgonError('PROTOCOL', "the server's answer is no array");
        return answers.map((a) => (isString(a?.error) ? named(a.error) : new Task(this, part(a, 'id', isString), a)));
    }

    async cronPut(name, schedule, method, params = [], { answerTimeout: timeout, signal, ...options } = {}) {
        const order = [name, scheduleOf(schedule), method, params, told('cron', options, 'cronPut()', OWN)];
        return this.request('cron.put', order, { timeout, signal });
    }

    task(id) {
        return new Task(this, idOf(id), {});
    }

    actor(name) {
        return new ActorRef(this, name, (params, signal) => this.#poll('actor.watch', params, signal));
    }

    async wait(tasks, options = {}) {
        const { any = false, result = true } = check(options, OPTIONS.wait, 'wait()');
        const ids = idsOf(tasks);
        const some = Array.from({ length: Math.ceil(ids.length / WAITED) }, (_, i) => ids.slice(i * WAITED, (i + 1) * WAITED));
        return within(this.#timed(options), 'task.wait', async (signal) => {
            if (some.length === 0) return { ended: [], open: [] };
            const enough = new AbortController(); // nobody needs the others any more
            signal.addEventListener('abort', () => enough.abort(signal.reason), { once: true });
            try {
                const waits = some.map((part) => this.#waitSome(part, { any, result }, enough.signal));
                if (!any) return { ended: (await Promise.all(waits)).flatMap(({ ended }) => ended), open: [] };
                const { ended } = await Promise.race(waits);
                const known = new Set(ended.map(({ id }) => id));
                return { ended, open: ids.filter((id) => !known.has(id)) };
            } finally {
                enough.abort();
            }
        });
    }

    /** Of as many as the server takes at a time. */
    async #waitSome(ids, { any, result }, signal) {
        const ended = [];
        for (let open = ids; ;) {
            const answer = await this.#poll('task.wait', [open, { timeout: POLL, any, result }], signal);
            ended.push(...part(answer, 'ended', Array.isArray));
            open = part(answer, 'open', Array.isArray);
            if (open.length > 0 && !(any && ended.length > 0)) continue;
            // The server sends so many bytes of results at a time, and leaves out the others.
            for (const task of ended) if (result && !Object.hasOwn(task, 'result')) await this.#fetch(task, signal);
            return { ended, open };
        }
    }

    /** Its result; of a task that the server has forgotten meanwhile there is none. */
    async #fetch(task, signal) {
        try {
            const { result, cut } = await this.#once('task.get', [task.id, { result: true }], signal, this.#calls, STOPPING);
            Object.assign(task, { result, cut });
        } catch (error) {
            if (!error.remote || error.code !== 'NOT_FOUND') throw error;
        }
    }

    async #poll(method, params, signal) {
        for (;;) {
            try {
                return await within({ timeout: POLL_LONGEST, signal }, method, (inner) =>
                    this.#once(method, params, inner, this.#polls, FULL));
            } catch (error) {
                if (signal.aborted || error.code !== 'TIMEOUT' || error.remote) throw error;
            }
        }
    }

    async *watch(task, options = {}) {
        const { from = 1, signal = new AbortController().signal } = check(options, OPTIONS.watch, 'watch()');
        const id = idOf(task);
        for (let next = from, attempt = 0; ;) {
            const before = next;
            const page = await this.#poll('task.watch', [id, { from: next, max: PAGE, timeout: POLL }], signal);
            let { missed } = page;
            for (const event of part(page, 'events', Array.isArray)) {
                const seq = part(event, 'seq', Number.isInteger);
                if (seq < next) continue;
                next = seq + 1;
                yield missed > 0 ? { ...event, missed } : event;
                missed = 0;
            }
            if (page.ended) return;
            attempt = next > before ? 0 : attempt + 1;
            // A server that is always so quick is left in peace.
            if (attempt > 0) await sleep(pause(attempt - 1, PAUSE), signal);
        }
    }

    // ---- further methods; most are in methods.js ----

    async *events({ signal = new AbortController().signal, ...filter } = {}) {
        const wire = told('feed', filter, 'events()', ['signal']);
        for (let [gap, missed] = [null, 0]; ;) {
            const page = await this.#poll('task.events', [{ ...wire, timeout: POLL, max: PAGE }], signal);
            wire.after = page.next;
            if (page.gap) [gap, missed] = [page.gap, page.missed && page.missed + missed]; // of pages without events, too
            for (const event of part(page, 'events', Array.isArray)) {
                yield gap ? { ...event, gap, missed } : event;
                [gap, missed] = [null, 0];
            }
        }
    }

    async batchWait(id, options = {}) {
        check(options, ['timeout', 'signal'], 'batchWait()');
        return within(this.#timed(options), 'batch.get', async (signal) => {
            for (;;) {
                const batch = await this.#poll('batch.get', [id, { wait: POLL }], signal);
                if (part(batch, 'state', isString) === 'ended') return batch;
            }
        });
    }

    async cronRun(name, { timeout, signal, ...options } = {}) {
        const answer = await this.request('cron.run', [name, check(options, ['tenant'], 'cronRun()')], { timeout, signal });
        return new Task(this, part(answer, 'id', isString), answer);
    }

    // ---- semaphores and events ----

    /** What these need of the client. */
    get #peer() {
        return {
            session: (signal) => {
                this.#start();
                return this.#up.wait(signal);
            },
            within,
        };
    }

    acquire(name, options) {
        return sems.acquire(this.#peer, name, options);
    }

    sem(name, options, use) {
        return sems.holding(this.#peer, name, options, use);
    }

    async eventSet(name, value = null, options = {}) {
        check(options, OPTIONS.call, 'eventSet()');
        return part(await this.request('event.set', [name, value], options), 'seq', Number.isInteger);
    }

    async eventWait(name, options = {}) {
        const { from } = check(options, OPTIONS.eventWait, 'eventWait()');
        return within(this.#timed(options), 'event.wait', async (signal) => {
            for (let next = from; ;) {
                // First what its number is, so that none is missed while a connection is made again.
                const params = [name, next === undefined ? { timeout: 0 } : { timeout: POLL, from: next }];
                const answer = await this.#poll('event.wait', params, signal);
                const seq = part(answer, 'seq', Number.isInteger);
                if (!answer.timeout) return { seq, value: answer.value ?? null };
                next ??= seq + 1;
            }
        });
    }
}

class Task extends Result {
    #client;

    constructor(client, id, said) {
        super();
        this.#client = client;
        this.id = id;
        this.said = said;
    }

    get output() {
        return this;
    }

    async wait(options) {
        const { ended } = await this.#client.wait([this.id], options);
        return Task.resultOf(ended[0]);
    }

    /** For the package: the result of a task that has ended, as the server shows it. */
    static resultOf(task) {
        const state = part(task, 'state', isString);
        if (state !== 'done') throw named(task.error ?? `${state.toUpperCase()}: the task is ${state}`, { data: task });
        const cut = 'the result was larger than keep_size, and was not kept';
        if (task.cut) throw new ErgonError('TOO_LARGE', cut, { data: task });
        return task.result;
    }

    watch(options) {
        return this.#client.watch(this.id, options);
    }

    async get({ timeout, signal, ...options } = {}) {
        const wire = told('get', { result: true, history: false, ...options }, 'get()', CALL);
        return this.#client.request('task.get', [this.id, wire], { timeout, signal, again: true });
    }

    async change({ timeout, signal, ...options } = {}) {
        const wire = told('change', options, 'change()', CALL);
        return this.#client.request('task.change', [this.id, wire], { timeout, signal });
    }

    static {
        const verbs = { explain: 'explain', cancel: 'cancel', retry: 'retry', forget: 'forget', runNow: 'run_now' };
        for (const [name, verb] of Object.entries(verbs))
            Task.prototype[name] = function (options) {
                return this.#client.request(`task.${verb}`, [this.id], { ...options, again: verb === 'explain' });
            };
    }
}

class ActorRef {
    #client;
    #poll;

    constructor(client, name, poll) {
        this.#client = client;
        this.#poll = poll;
        this.name = name;
    }

    async call(method, params = [], { timeout, signal, ...options } = {}) {
        const order = [this.name, ...ordered('message', [method, params, options], 'call()', CALL)];
        return this.#client.request('actor.call', order, { timeout, signal, again: order[3].key !== undefined });
    }

    async tell(method, params = [], { answerTimeout: timeout, signal, ...options } = {}) {
        const order = [this.name, ...ordered('message', [method, params, options], 'tell()', OWN)];
        const answer = await this.#client.request('actor.tell', order, { timeout, signal, again: order[3].key !== undefined });
        return new Task(this.#client, part(answer, 'id', isString), answer);
    }

    get({ state = true, ...options } = {}) {
        return this.#client.request('actor.get', [this.name, { state }], { ...options, again: true });
    }

    async *watch(options = {}) {
        const { from = 1, signal = new AbortController().signal } = check(options, OPTIONS.watch, 'watch()');
        for (let next = from; ;) {
            const answer = await this.#poll([this.name, { from: next, timeout: POLL }], signal);
            const version = part(answer, 'version', Number.isInteger);
            if (answer.timeout) continue;
            next = version + 1;
            yield answer;
        }
    }

    explain(options) {
        return this.#client.request('actor.explain', [this.name], { ...options, again: true });
    }

    /** Puts a reminder, in place of the one of its name: {in | at, every}. */
    async remind(name, method, params = [], { timeout, signal, ...when } = {}) {
        const order = [this.name, name, method, params, told('reminder', when, 'remind()', CALL)];
        const answer = await this.#client.request('actor.remind', order, { timeout, signal });
        return new Task(this.#client, part(answer, 'id', isString), answer);
    }

    forget(name, options) {
        return this.#client.request('actor.forget', [this.name, name], options);
    }

    static {
        const verbs = { start: { reset: false }, stop: { reason: undefined }, wake: {}, drop: {} }; // and their options
        for (const [verb, defaults] of Object.entries(verbs))
            ActorRef.prototype[verb] = async function ({ timeout, signal, ...own } = {}) {
                const wire = check({ ...defaults, ...own }, Object.keys(defaults), `${verb}()`);
                const answer = await this.#client.request(`actor.${verb}`, [this.name, wire], { timeout, signal });
                return part(answer, 'stage', isString);
            };
    }
}

methods.addTo(Client);

/** A client that is connected. */
async function connect(url, options) {
    return new Client(url, options).connect();
}

module.exports = { Actor, ActorRef, Again, Client, ErgonError, Ext, Permanent, RESULT, Task, connect, turn };
