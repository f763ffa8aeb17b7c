// Results as parameters: a Task among the parameters of a later one, at any depth, is its result there.
'use strict';

const { Ext } = require('../msgpack');
const { told } = require('./options');

const DEPTH = 500; // levels: the encoder refuses more

/** A Task, or what takes its place among parameters. */
class Result {}

const RESULT = Object.freeze(new Result()); // in the orders of App.chain(): the result of the one before

const isMap = (value) =>
    typeof value === 'object' && value !== null && ![Uint8Array, Date, Ext].some((kind) => value instanceof kind);

/** The value, with change(each) in place of each Result in its arrays, maps and objects. */
function replaced(value, change, depth = 0) {
    const inner = (each) => replaced(each, change, depth + 1);
    const pairs = (entries) => [...entries].map(([key, each]) => [key, inner(each)]);
    if (value instanceof Result) return change(value);
    if (!isMap(value) || depth > DEPTH) return value;
    if (Array.isArray(value)) return value.map(inner);
    return value instanceof Map ? new Map(pairs(value)) : Object.fromEntries(pairs(Object.entries(value)));
}

/** A submission for the server, with options of this kind. The tasks among the parameters are `after`, too. */
function ordered(kind, [method, params, options], who, own) {
    const wire = told(kind, options ?? {}, who, own);
    const ids = new Set(wire.after);
    const placed = replaced(params ?? [], (task) => {
        if (task === RESULT)
            throw new TypeError('RESULT is the result of the order before, and belongs to the later orders of a chain');
        ids.add(task.id);
        return { $result: task.id };
    });
    if (ids.size > 0) wire.after = [...ids];
    return [method, placed, wire];
}

module.exports = { RESULT, Result, ordered, replaced };
