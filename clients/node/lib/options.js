// The options of the package: their names, what they may be, and what the server is told of them.
//
// A number of a duration is always milliseconds, as of setTimeout(); a number of a moment is Unix milliseconds, as of Date.now().
'use strict';

const UNITS = { ns: 1e-6, us: 1e-3, ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 };
const TEXT = /^(\d+(?:\.\d+)?) ?(ns|us|ms|s|m|h|d)$/;
const LONGEST = 1e14; // ms
const EARLIEST = 1e11; // Unix ms, the year 1973: a smaller number was meant as seconds

const isNumber = (value) => typeof value === 'number';

/** A duration in milliseconds. TypeError, RangeError: which is wrong, and what to write instead. */
function msOf(value, name) {
    let ms = value;
    if (typeof value === 'string') {
        const match = TEXT.exec(value === '0' ? '0ms' : value);
        if (!match) throw new TypeError(`${name}: '${value}' is no duration; write '500ms', '5s', '10m', '2h' or '7d'`);
        ms = match[1] * UNITS[match[2]];
    } else if (value instanceof Date)
        throw new TypeError(`${name} is a duration, not a Date: use milliseconds, or a text such as '5s'`);
    else if (!isNumber(value))
        throw new TypeError(`${name} is a duration: use milliseconds, or a text such as '5s', not ${typeof value}`);
    if (!(ms >= 0 && ms <= LONGEST)) throw new RangeError(`${name} must be from 0 to ${LONGEST} ms, not ${value}`);
    return ms;
}

/** The same for the server: whole, and what is not 0 is at least 1. */
const wholeOf = (value, name) => Math.ceil(msOf(value, name));

/** Milliseconds from now; a Date is the moment at which they are over. */
function leftOf(value, name) {
    if (!(value instanceof Date)) return msOf(value, name);
    const ms = value.getTime() - Date.now();
    if (Number.isNaN(ms)) throw new RangeError(`${name} is an invalid Date`);
    return Math.max(0, ms);
}

/** The same for the server. A moment that has passed is a millisecond away: 0 might be no limit. */
const untilOf = (value, name) => Math.max(value instanceof Date ? 1 : 0, Math.ceil(leftOf(value, name)));

/** Milliseconds that a caller waits; null and Infinity: without a limit. */
const waitOf = (value, name = 'timeout') =>
    value === undefined ? undefined : value === null || value === Infinity ? Infinity : leftOf(value, name);

/** A moment, as the server takes it. */
function momentOf(value, name) {
    if (typeof value === 'string') return value; // the server knows RFC 3339, and refuses what is not
    const ms = value instanceof Date ? value.getTime() : value;
    if (!isNumber(ms)) throw new TypeError(`${name} is a moment: use a Date, Unix ms, or RFC 3339, not ${typeof value}`);
    if (!(ms >= 0 && ms <= LONGEST)) throw new RangeError(`${name}: ${value} is no moment`);
    if (isNumber(value) && value < EARLIEST)
        throw new RangeError(`${name} is in Unix milliseconds, as of Date.now(), not ${value}; for a duration use delay`);
    return Math.round(ms);
}

/** The id of a task, or of what is one. */
function idOf(task) {
    const id = typeof task === 'string' ? task : task?.id;
    if (typeof id !== 'string') throw new TypeError(`a task is a Task or its id, not ${task === null ? null : typeof task}`);
    return id;
}

const isMany = (value) => typeof value !== 'string' && typeof value?.[Symbol.iterator] === 'function';
const idsOf = (tasks) => (isMany(tasks) ? [...tasks] : [tasks]).map(idOf);

const rateOf = (value, name) => (value?.per === undefined ? value : { ...value, per: wholeOf(value.per, `${name}.per`) });
const same = (value) => value;
const plain = (...names) => Object.fromEntries(names.map((name) => [name, [name, same]]));

// name: [that of the server, how its value is told]
const CRON = {
    attemptTimeout: ['timeout', wholeOf],
    deadline: ['deadline', untilOf],
    priority: ['priority', same],
    retries: ['retries', same],
    backoff: ['backoff', wholeOf],
    backoffMax: ['backoff_max', wholeOf],
    backoffJitter: ['backoff_jitter', same],
    coalesce: ['coalesce', same],
    limit: ['limit', same],
    rate: ['rate', rateOf],
    actor: ['actor', same],
    tenant: ['tenant', same],
    keep: ['keep', wholeOf],
    keepSize: ['keep_size', same],
    durable: ['durable', same],
};
const TASK = {
    ...CRON,
    delay: ['delay', wholeOf],
    at: ['at', momentOf],
    key: ['key', same],
    after: ['after', idsOf],
    afterAny: ['after_any', idsOf],
    traceparent: ['traceparent', same],
    tracestate: ['tracestate', same],
    batch: ['batch', idOf],
};
const FILTER = { ...plain('state', 'method', 'tenant', 'key', 'actor'), older: ['older', wholeOf], newer: ['newer', wholeOf] };
const KINDS = {
    task: TASK,
    message: { ...TASK, turn: ['turn', same] },
    cron: { ...CRON, zone: ['zone', same], jitter: ['jitter', wholeOf], overlap: ['overlap', same], catchUp: ['catch_up', same] },
    batch: {
    onSuccess: ['on_success', same],
    onFailure: ['on_failure', same],
    onEnd: ['on_end', same],
    ...plain('parent', 'durable', 'tenant'),
    keep: ['keep', wholeOf],
  },
    reminder: { in: ['in', wholeOf], at: ['at', momentOf], every: ['every', wholeOf] },
    get: { ...plain('result', 'history', 'params', 'options', 'attempts'), paramsText: ['params_text', same] },
    filter: { ...FILTER, all: ['all', same], dryRun: ['dry_run', same] },
    list: { ...FILTER, ...plain('contains', 'limit'), paramsText: ['params_text', same] },
    feed: { ...plain('after', 'event', 'state', 'method', 'tenant', 'key'), id: ['id', idsOf] },
    change: { priority: ['priority', same], delay: ['delay', wholeOf], at: ['at', momentOf] },
    page: plain('method', 'state', 'limit', 'type', 'prefix', 'stage', 'tenant'),
};

const AMBIGUOUS = ['submit()', 'submitMany()', 'an order of submitMany()', 'cronPut()', 'a policy'];

/** Throws the TypeError of an option that there is none of, which says what to use. */
function unknown(name, known, who) {
    if (name === 'timeout' && AMBIGUOUS.includes(who))
        throw new TypeError(`${who} has no option 'timeout', which might mean either: attemptTimeout ends an attempt of a task ` +
            '(deadline all of them), answerTimeout the wait of this client for the answer to the submission');
    if (name === 'answerTimeout') throw new TypeError(`${who} has no option 'answerTimeout': use timeout`);
    const bare = (text) => text.replace(/_/g, '').toLowerCase();
    const near = known.find((one) => bare(one) === bare(name)) ?? known.find((one) => isNear(bare(one), bare(name)));
    throw new TypeError(`${who} has no option '${name}'` + (near ? `; did you mean '${near}'?` : `; it has ${known.join(', ')}`));
}

/** One is the beginning of the other, or at most two letters are other, missing, or too much. */
function isNear(a, b) {
    if (Math.min(a.length, b.length) >= 4 && (a.startsWith(b) || b.startsWith(a))) return true;
    let row = [...Array(b.length + 1).keys()]; // edit distances: of a prefix of a from each prefix of b
    for (const [i, letter] of [...a].entries()) {
        const next = [i + 1];
        for (let j = 0; j < b.length; j++) next.push(Math.min(row[j + 1] + 1, next[j] + 1, row[j] + (letter === b[j] ? 0 : 1)));
        row = next;
    }
    return row.at(-1) <= Math.min(2, b.length - 2);
}

/** TypeError: there is an option beside these. */
function check(options, known, who) {
    for (const name of Object.keys(options)) if (!known.includes(name)) unknown(name, known, who);
    return options;
}

/** Options of a kind for the server, which may also have its own names; `own` are those of the client beside. */
function told(kind, options, who, own = []) {
    const table = KINDS[kind];
    const wire = {};
    for (const [name, value] of Object.entries(options)) {
        const camel = Object.hasOwn(table, name) ? name : name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
        if (!Object.hasOwn(table, camel)) unknown(name, [...Object.keys(table), ...own], who);
        const isNone = value === undefined || value === null;
        if (isNone && kind === 'filter') throw new TypeError(`${who}: ${name} is ${value}: leave it out, if all are meant`);
        if (isNone) continue;
        const [other, change] = table[camel];
        wire[other] = change(value, name);
    }
    return wire;
}

/** A cron's times: its text, or how often. */
const scheduleOf = (value) => (isNumber(value) || TEXT.test(value) ? `every ${wholeOf(value, 'schedule')}ms` : value);

module.exports = { KINDS, check, idOf, idsOf, msOf, scheduleOf, told, waitOf, wholeOf };
