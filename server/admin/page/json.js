// JSON as people read and edit it.  Pure.

import { Raw } from './api.js';

const WIDE = 100; // characters: what fits is one line

/** `value`, of the gateway with `raw`, as text of several lines.  `bytes(base64)`: how bytes are written; by default as the gateway takes them. */
export function jsonText(value, bytes = null, indent = '') {
    if (value instanceof Raw) return value.text;
    if (value === null || typeof value !== 'object') return JSON.stringify(value);
    if (bytes && typeof value.$bin === 'string' && Object.keys(value).length === 1) return bytes(value.$bin);
    const isArray = Array.isArray(value), inner = `${indent}  `;
    const parts = isArray ? value.map((one) => jsonText(one, bytes, inner)) : Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${jsonText(one, bytes, inner)}`);
    const [open, close] = isArray ? '[]' : '{}';
    if (parts.reduce((all, part) => all + part.length + 2, indent.length) <= WIDE && !parts.some((part) => part.includes('\n'))) return `${open}${parts.join(', ')}${close}`;
    return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}

/** What is wrong with a text that shall be JSON and an array (or an object), or null. */
export function jsonError(text, wanted) {
    let value;
    try {
        value = JSON.parse(text);
    } catch (error) {
        return `This is not JSON: ${error.message}.`;
    }
    const is = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    return is === wanted ? null : `This must be ${wanted === 'array' ? 'an array, as [1, "two"]' : 'an object, as {"priority": 7}'}.`;
}
