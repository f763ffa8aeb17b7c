// What a client says of its connection: events for programs, lines for people.
'use strict';

const AGAIN = 30000; // ms after which a refusal for the same reason has another line
const KEPT = 16; // reasons of refusals that are known

// Standard error, but nothing of what went well from the start.
const STDERR = { info() {}, warn: (line) => console.error(line), error: (line) => console.error(line) };
const SILENT = { info() {}, warn() {}, error() {} };

/** The option `log`: like console; null, false: nothing. TypeError: it is none. */
function logOf(log = STDERR) {
    if (log === null || log === false) return SILENT;
    for (const level of ['info', 'warn', 'error'])
        if (typeof log[level] !== 'function') throw new TypeError(`log has no ${level}(): pass console, its like, or false`);
    return log;
}

/** The lines of one client. */
class News {
    #address;
    #log;
    #refusals = new Map(); // reasons that had a line since the last connection, and when, ms
    #down; // since when there is no connection, ms
    #isOurs; // we ended it

    constructor(address, log) {
        this.#address = address;
        this.#log = log;
    }

    connect() {
        const line = `ergon: connected to ${this.#address}`;
        if (this.#refusals.size === 0) this.#log.info(line);
        else this.#log.warn(line); // whoever read of the refusal
        this.#refusals.clear();
    }

    reconnect() {
        const seconds = ((performance.now() - this.#down) / 1000).toFixed(1);
        const line = `ergon: connected to ${this.#address} again, after ${seconds} s`;
        if (this.#isOurs && this.#refusals.size === 0) this.#log.info(line);
        else this.#log.warn(line);
        this.#refusals.clear();
    }

    disconnect(reason, isOurs) {
        this.#down = performance.now();
        this.#isOurs = isOurs;
        if (!isOurs) this.#log.warn(`ergon: lost the connection to ${this.#address}: ${reason}; connecting again`);
    }

    /** The first of its reason, and then one in a while: there may be ten in a second. */
    refused(reason) {
        const now = performance.now();
        if (now - this.#refusals.get(reason) < AGAIN) return;
        if (this.#refusals.size >= KEPT) this.#refusals.clear();
        this.#refusals.set(reason, now);
        this.#log.warn(`ergon: no connection to ${this.#address}: ${reason}; trying again`);
    }

    drained(reason) {
        this.#log.warn(`ergon: ${this.#address} is stopping: ${reason}`);
    }
}

module.exports = { News, logOf };
