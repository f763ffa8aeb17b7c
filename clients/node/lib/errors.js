// What can go wrong: one class, whose code tells what.
'use strict';

const { inspect } = require('util');
const { wholeOf } = require('./options');

// Said by servers that do not tell by themselves whether an error is worth another try.
const RETRYABLE = ['BUSY', 'DRAINING', 'MEMORY', 'STORE', 'NO_WORKER', 'UNREACHABLE'];

/**
 * `code` is a name such as "BUSY", `text` is for people, `retryable` says that the same call may well succeed later,
 * `number` and `data` are what the server said beside, or null. Codes that do not come from the server: BROKEN (the connection
 * broke, and the call may have run or not), TIMEOUT, UNREACHABLE (nothing was sent), CLOSED, PROTOCOL; and AUTH, of a token
 * that was refused. A handler may fail with an error of the same name: `remote` says that the server answered it, or that a task
 * ended with it.
 */
class ErgonError extends Error {
    constructor(code, text, { retryable = RETRYABLE.includes(code), number = null, data = null, remote = false } = {}) {
        text = String(text ?? ''); // a handler may give an error
        super(code ? `${code}: ${text}` : text);
        this.name = 'ErgonError';
        Object.assign(this, { code, text, retryable, number, data, remote });
    }
}

/** Of a handler: not now; the next attempt is to begin after this, and this one was no failure. 0 hands the task back. */
class Again extends ErgonError {
    constructor(ms = 0) {
        const whole = wholeOf(ms, 'Again()');
        super('AGAIN', whole > 0 ? `${whole}ms` : '0', { retryable: true });
    }
}

/** Of a handler: it will never succeed, and is not to be tried again. The code is PERMANENT, or begins so. */
class Permanent extends ErgonError {
    constructor(text, code = 'PERMANENT') {
        super(code, text);
    }
}

/** "NAME: text", which the server said, as an error. */
function named(text, more) {
    more = { ...more, remote: true };
    const match = /^([A-Z_][A-Z0-9_]*): ?([^]*)$/.exec(text);
    return match ? new ErgonError(match[1], match[2], more) : new ErgonError('', text, more);
}

/** The error of a response in any of its shapes: a text, [number, text], or a map. */
function remoteError(value) {
    if (typeof value === 'string') return named(value);
    if (Array.isArray(value) && typeof value[1] === 'string') return named(value[1], { number: value[0] });
    const { code: number, message, retryable, data } = value ?? {};
    if (typeof message !== 'string') return new ErgonError('', inspect(value), { remote: true });
    return named(message, { number, retryable, data });
}

module.exports = { Again, ErgonError, Permanent, named, remoteError };
