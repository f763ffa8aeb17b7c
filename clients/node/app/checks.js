// The `check` of a task: its parameters are checked, and perhaps converted, before the handler is called.
'use strict';

const { ErgonError } = require('../lib/errors');

const isPlain = (value) => typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
// A constructor stands for its values: [what they are, the test of a value].
const KINDS = new Map([
    [String, ['a string', (value) => typeof value === 'string']],
    [Number, ['a number', (value) => typeof value === 'number']],
    [Boolean, ['true or false', (value) => typeof value === 'boolean']],
    [Buffer, ['bytes', (value) => value instanceof Uint8Array]],
    [Date, ['a Date', (value) => value instanceof Date]],
    [Array, ['an array', Array.isArray]],
    [Object, ['a map', isPlain]],
]);

/** What a value is, for people, without the value: it may be a secret. */
function kindOf(value) {
    if (value === undefined) return 'nothing';
    if (value === null) return 'nil';
    for (const [text, is] of KINDS.values()) if (is(value)) return text;
    return `a ${value.constructor?.name ?? typeof value}`;
}

/** What a check threw; zod and its like give each issue a path. `at`: the index of the parameter, if known. */
function reasonOf(error, at) {
    const one = ({ path: [...path], message }) => {
        const index = at ?? path.shift();
        const where = index === undefined ? '' : `parameter ${index + 1}${path.map((key) => `.${String(key)}`).join('')}: `;
        return where + message;
    };
    const { issues = [{ path: [], message: error?.message ?? String(error) }] } = error ?? {};
    return issues.map(one).join('; ');
}

/** What a check returned. TypeError: a Promise, with which the handler would run unchecked. */
function atOnce(made) {
    if (typeof made?.then !== 'function') return made;
    made.then(null, () => {}); // the error below says what to do
    throw new TypeError('its check returned a Promise: use a check that is not async');
}

/** The check of one parameter: a function of its value that returns the value for the handler. */
function oneOf(check) {
    const [wanted, is] = KINDS.get(check) ?? [];
    if (is === undefined && typeof check.parse === 'function') return (value) => atOnce(check.parse(value));
    return (value) => {
        const made = is === undefined ? atOnce(check(value)) : is(value);
        if (made === false) throw new TypeError(wanted ? `expected ${wanted}, and got ${kindOf(value)}` : 'its check refused it');
        return made === true ? value : made;
    };
}

// The `prototype` of a class, built-in or not, cannot be written: without `new` it cannot be called, or converts anything.
const isClass = (check) => Object.getOwnPropertyDescriptor(check, 'prototype')?.writable === false;
const isCheck = (check) => typeof check?.parse === 'function' || (typeof check === 'function' && !isClass(check));

/** The check of all parameters: a function of their array that returns the array for the handler. */
function allOf(check) {
    if (Array.isArray(check)) {
        const each = check.map(oneOf);
        return (params, attempt) => {
            if (params.length > each.length) throw new TypeError(`expected ${each.length} parameters, and got ${params.length}`);
            return each.map((one, at) => attempt(() => one(params[at]), at));
        };
    }
    if (typeof check.parse === 'function') return (params) => atOnce(check.parse(params));
    return (params) => {
        const made = atOnce(check(...params));
        if (made === false) throw new TypeError('the check of its parameters refused them');
        return Array.isArray(made) ? made : params;
    };
}

/**
 * A function of the parameters of the task `name` that returns those for the handler, or throws BAD_PARAMS, after which a task is
 * not tried again; null: there is no check. TypeError: `check` is none.
 */
function checkerOf(name, check) {
    if ((check ?? null) === null) return null;
    if (!(Array.isArray(check) ? check.every((one) => KINDS.has(one) || isCheck(one)) : isCheck(check) && !KINDS.has(check)))
        throw new TypeError(
            `check of ${name}: use a function, no class; an object with parse(); or an array of these and of kinds: [String]`);
    const checked = allOf(check);
    const attempt = (use, at) => {
        try {
            return use();
        } catch (error) {
            throw error instanceof ErgonError ? error : new ErgonError('BAD_PARAMS', `${name}: ${reasonOf(error, at)}`);
        }
    };
    return (params) => attempt(() => checked(params, attempt));
}

module.exports = { checkerOf };
