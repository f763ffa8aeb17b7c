// One connection: messages to bytes and back, which answer belongs to which call, and who we are.
'use strict';

const fs = require('fs');
const net = require('net');
const tls = require('tls');
const { ErgonError, remoteError } = require('./errors');
const { encode, Scanner } = require('../msgpack');

const [REQUEST, RESPONSE, NOTIFICATION] = [0, 1, 2];
const IDS = 2 ** 31;
const DRAINING = 9; // the number of this error of the server's own
const PORTS = { 'ergon:': 7466, 'ergons:': 7467 };

/** The connection broke under a call: told from a handler's own error of that name by its class. */
class Broken extends ErgonError {
    constructor(why) {
        super('BROKEN', `the connection broke, and the call may have run or not: ${why}`);
    }
}

/** The connection ended before the message went into it. */
class Unsent extends Error {}

/** What the promise becomes, or the reason of the signal if that comes first. */
function until(promise, signal) {
    return new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const abort = () => reject(signal.reason);
        signal.addEventListener('abort', abort, { once: true });
        promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
}

/** What others settle, once. Of a wait that is given up nothing is left, however long the others take. */
class Later {
    waiting = new Set(); // {resolve, reject} of each wait
    #how = null; // [name of one of these, value], once it is settled

    resolve(value) {
        this.#settle('resolve', value);
    }

    reject(error) {
        this.#settle('reject', error);
    }

    #settle(...how) {
        this.#how ??= how;
        for (const one of this.waiting) one[this.#how[0]](this.#how[1]);
        this.waiting.clear();
    }

    /** The value, the error, or the signal's reason if that comes first. */
    wait(signal = new AbortController().signal) {
        let one;
        const settled = new Promise((resolve, reject) => this.waiting.add((one = { resolve, reject })));
        if (this.#how !== null) this.#settle();
        return until(settled, signal).finally(() => this.waiting.delete(one));
    }
}

/** Why a socket failed; of a host with several addresses the reasons of all. */
function reasonOf(error) {
    return error.message || error.errors?.map(({ message }) => message).join('; ') || error.code || String(error);
}

/** A URL, and what is needed to trust and to be trusted there. */
class Address {
    constructor(url, { token = null, ca, cert, key, serverName } = {}) {
        const { protocol, hostname, port, pathname, host } = new URL(url);
        this.url = url;
        this.token = token;
        if (protocol === 'unix:' && host === '' && pathname.length > 1) this.to = { path: decodeURIComponent(pathname) };
        else if (protocol in PORTS && hostname !== '')
            this.to = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || PORTS[protocol]) };
        else throw new TypeError(`${url} is neither ergon://host[:port] nor ergons://host[:port] nor unix:///path`);
        if (protocol !== 'ergons:') return;
        const file = (path) => (path === undefined ? undefined : fs.readFileSync(path));
        const name = serverName ?? this.to.host;
        this.tls = {
            secureContext: tls.createSecureContext({
                ca: file(ca), cert: file(cert), key: file(key ?? cert), minVersion: 'TLSv1.2',
            }),
            rejectUnauthorized: true, // whatever NODE_TLS_REJECT_UNAUTHORIZED says
            servername: net.isIP(name) ? '' : name,
            // The name must stand among the subjectAltNames: a common name is none.
            checkServerIdentity: (_, certificate) => tls.checkServerIdentity(name, { ...certificate, subject: {} }),
        };
    }

    /** A socket that is about to connect, and the event that tells that it has. */
    dial() {
        if (this.tls) return [tls.connect({ ...this.to, ...this.tls }), 'secureConnect'];
        return [net.connect(this.to), 'connect'];
    }
}

/**
 * A connection. `onNotification(session, method, params)` is called for each notification of the server, `onRequest(session, id,
 * method, params)` for each request, which it refuses by returning false, `onEnd()` once when it has ended, after its calls have
 * failed, and `onDrain(session, text)` once when the server has said that it is stopping.
 */
class Session {
    constructor(address, { messageMax, onNotification, onRequest, onEnd, onDrain }) {
        this.limits = {}; // as server.hello told them
        this.ended = null; // why, once it has
        this.calls = new Map(); // id: {resolve, reject} of its answer
        this.last = 0;
        this.room = new Later(); // in the socket, for those that want to write
        this.closing = null; // why the server closes it, if it told
        this.draining = false; // the server is stopping
        Object.assign(this, { address, messageMax, onNotification, onRequest, onEnd, onDrain, scanner: new Scanner(messageMax) });
        const [socket, connected] = address.dial();
        this.socket = socket;
        this.connected = new Promise((resolve) => socket.once(connected, resolve));
        this.over = new Later();
        socket.setNoDelay?.(true);
        socket.setKeepAlive?.(true, 15000);
        socket.on('data', (bytes) => this.receive(bytes));
        socket.on('drain', () => this.makeRoom());
        socket.on('error', (error) => this.end(reasonOf(error)));
        socket.on('close', () => {
            this.end(this.closing ?? 'the server closed it');
            this.over.resolve();
        });
    }

    /** Connects, says how we want to be answered, and who we are. UNREACHABLE or AUTH; the signal's reason. */
    async introduce(signal) {
        const { token, url } = this.address;
        await until(Promise.race([this.connected, this.over.wait()]), signal);
        const hello = { errors: 'map', half_close: false, push: true }; // so it tells why it closes
        const asked = [this.request('server.hello', [hello], signal)];
        if (token !== null) asked.push(this.request('server.auth', [token], signal));
        const [said, accepted] = await Promise.allSettled(asked);
        if (this.ended !== null) throw new ErgonError('UNREACHABLE', `${url}: ${this.ended}`);
        if (signal.aborted) throw signal.reason;
        if (accepted?.status === 'rejected')
            throw new ErgonError('AUTH', `the server refused the token: ${accepted.reason.message}`);
        // Another server of MessagePack-RPC need not know server.hello.
        this.limits = said.value?.limits ?? {};
    }

    // ---- sending ----

    /** Unsent; TOO_LARGE; TypeError, RangeError: it is not for MessagePack. */
    write(message) {
        const frame = encode(message);
        if (frame.length > this.limits.message) // the server would close the connection over it, under all other calls
            throw new ErgonError('TOO_LARGE', `${frame.length} bytes, and the server takes ${this.limits.message}`);
        if (this.ended !== null) throw new Unsent();
        this.socket.write(frame);
    }

    /** The socket has yet to take what was written; who finds that it is not full writes in the same breath. */
    get full() {
        return this.ended === null && this.socket.writableNeedDrain;
    }

    drained(signal) {
        return this.room.wait(signal);
    }

    makeRoom() {
        const { room } = this;
        this.room = new Later();
        room.resolve();
    }

    nextId() {
        do this.last = (this.last + 1) % IDS;
        while (this.calls.has(this.last));
        return this.last;
    }

    /**
     * The result. An ErgonError, or Unsent; after an abort of the signal its reason, and the server is told to cancel;
     * late(result) is called if it was done all the same.
     */
    async request(method, params, signal, late) {
        while (this.full) await this.drained(signal);
        if (signal.aborted) throw signal.reason;
        const id = this.nextId();
        this.write([REQUEST, id, method, params]);
        const answer = new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
        try {
            return await until(answer, signal);
        } finally {
            if (signal.aborted && late !== undefined) answer.then(late, () => {});
            const isOpen = late === undefined ? this.calls.delete(id) : this.calls.has(id);
            if (isOpen && this.ended === null) this.write([NOTIFICATION, 'server.cancel', [id]]);
        }
    }

    async notify(method, params, signal) {
        while (this.full) await this.drained(signal);
        this.write([NOTIFICATION, method, params]);
    }

    /** Answers a request of the server, when the socket is not full. As write(). */
    async answer(id, error, result) {
        while (this.full) await this.drained(new AbortController().signal);
        this.write([RESPONSE, id, error, result]);
    }

    /** Answers it at once, from within onRequest(), with an error or nil. */
    reply(id, error) {
        if (this.socket.writableLength > this.messageMax) throw new RangeError('it asks, and does not read our answers');
        this.write([RESPONSE, id, error, null]);
    }

    // ---- receiving ----

    receive(bytes) {
        if (this.ended !== null) return;
        try {
            for (const message of this.scanner.feed(bytes)) this.take(message);
        } catch (error) {
            if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
            this.end(`the server does not speak MessagePack-RPC: ${error.message}`);
        }
    }

    take(message) {
        const [type, id, ...rest] = Array.isArray(message) ? message : [];
        const call = type === RESPONSE ? this.calls.get(id) : undefined;
        if (type === RESPONSE && rest.length === 2 && ['number', 'bigint'].includes(typeof id)) {
            if (call === undefined) return; // a late one, of a call that was given up
            this.calls.delete(id);
            if (rest[0] === null) call.resolve(rest[1]);
            else call.reject(this.failure(rest[0]));
        } else if (type === REQUEST && rest.length === 2 && typeof rest[0] === 'string') {
            if (!this.onRequest(this, id, ...rest)) this.reply(id, `NO_METHOD: a client has no method ${rest[0].slice(0, 80)}`);
        } else if (type === NOTIFICATION && rest.length === 1 && typeof id === 'string') {
            if (id === 'server.closing' && Array.isArray(rest[0])) this.hear(rest[0]);
            queueMicrotask(() => this.onNotification(this, id, rest[0])); // what it throws is not ours
        } else throw new RangeError('a value that is no message');
    }

    /** Why the server is about to end the connection: at once, or, while it drains, when what it has read is answered. */
    hear(why) {
        if (why[0] === 'DRAINING') this.drain(why.join(': '));
        else this.closing = why.join(': ');
    }

    /** The error of an answer. A queue that is drained is no server that is stopping. */
    failure(value) {
        const error = remoteError(value);
        if (error.code === 'DRAINING' && error.number === DRAINING && !/queue/.test(error.text)) this.drain(error.message);
        return error;
    }

    drain(text) {
        if (!this.draining) this.onDrain(this, text);
        this.draining = true;
    }

    /** Ends it at once; calls in flight end as BROKEN. */
    end(why) {
        if (this.ended !== null) return;
        this.ended = why;
        this.socket.destroy();
        this.makeRoom();
        const calls = [...this.calls.values()];
        this.calls.clear();
        for (const { reject } of calls) reject(new Broken(why));
        this.onEnd();
    }

    /** Ends it when what was written has gone out, if the server reads that within a second. */
    async finish() {
        const late = setTimeout(() => this.end('the client closed it'), 1000);
        this.socket.end();
        await this.over.wait();
        clearTimeout(late);
    }
}

module.exports = { Address, Broken, Later, Session, Unsent, until };
