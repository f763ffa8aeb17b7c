// What a handler threw, as a worker answers it.
'use strict';

const { Again, ErgonError } = require('./errors');

const CODE = /^[A-Z_][A-Z0-9_]{0,31}$/;
const TEXT = 4000; // characters of an error
const TRACEBACK = 16 * 1024; // bytes: the server keeps no more
const TRACEBACK_HEAD = 2000; // characters that are kept of its begin, where it is longer
const BESIDE = 8 * 1024; // bytes of an answer beside its traceback

/** What a handler threw, as an error of MessagePack-RPC: "CODE: text". */
function errorText(error) {
    if (error instanceof ErgonError && CODE.test(error.code)) return `${error.code}: ${error.text.slice(0, TEXT)}`;
    return `FAILED: ${error}`.slice(0, TEXT);
}

/** Where it was thrown, and what caused it; the innermost comes first, as everywhere in Node. Empty: nobody knows. */
function tracebackOf(error, most) {
    const stacks = [];
    for (let at = error; at instanceof Error && stacks.length < 10; at = at.cause) stacks.push(String(at.stack));
    const text = stacks.join('\nCaused by: ');
    const bytes = Buffer.from(text);
    if (bytes.length <= most) return text;
    const head = `${text.slice(0, TRACEBACK_HEAD)}\n…\n`; // of a long message; the frames stand behind it
    const rest = most - Buffer.byteLength(head);
    return rest <= 0 ? '' : head + bytes.subarray(-rest).toString().replace(/^\ufffd+/, '');
}

/** The same with its traceback, if there is one, and the server of `limits` takes so much. */
function errorValue(error, limits) {
    const most = Math.min(TRACEBACK, (limits.message ?? Infinity) - BESIDE);
    const traceback = error instanceof Again ? '' : tracebackOf(error, most);
    if (traceback === '') return errorText(error);
    const [, code, message] = /^([A-Z0-9_]+): ([^]*)$/.exec(errorText(error));
    return { code, message, traceback };
}

module.exports = { TEXT, errorText, errorValue };
