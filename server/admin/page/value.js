// Shows a value of somebody's (a result, parameters) as a tree, within bounds: it may be large, deep and hostile.

import { Raw } from './api.js';
import { h } from './dom.js';
import * as f from './format.js';

const MOST = { children: 200, text: 4000, depth: 24, nodes: 2000, bytes: 256 };

/** Nodes for `value`. */
export function valueTree(value) {
    const left = { nodes: MOST.nodes };
    return h('div', { class: 'value' }, draw(value, 0, left));
}

function draw(value, depth, left) {
    if (--left.nodes < 0) return h('span', { class: 'muted' }, '…');
    if (value === null) return h('span', { class: 'v-nil' }, 'nil');
    switch (typeof value) {
    case 'string': return text(value);
    case 'number': return h('span', { class: 'v-number' }, String(value));
    case 'boolean': return h('span', { class: 'v-bool' }, String(value));
    default:
    }
    if (value instanceof Raw) return h('span', { class: 'v-number' }, value.text);
    if (typeof value.$bin === 'string' && Object.keys(value).length === 1) return binary(value.$bin);
    return Array.isArray(value) ? branch('[', ']', value.map((v) => [null, v]), depth, left) : branch('{', '}', Object.entries(value), depth, left);
}

function text(value) {
    const shown = value.length > MOST.text ? value.slice(0, MOST.text) : value;
    return h('span', { class: 'v-text' }, JSON.stringify(shown), value.length > MOST.text && h('span', { class: 'muted' }, ` … ${f.plural(value.length - MOST.text, 'character')} more`));
}

function binary(base64) {
    const size = Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
    return h('span', { class: 'v-bin', title: `${f.plural(size, 'byte')} of binary data` }, `${f.bytes(size)}: ${f.hex(base64, MOST.bytes)}`);
}

function branch(open, close, entries, depth, left) {
    if (!entries.length) return h('span', {}, open + close);
    if (depth >= MOST.depth) return h('span', { class: 'muted' }, `${open} … ${close}`);
    const shown = entries.slice(0, MOST.children);
    const rows = [];
    for (const [key, value] of shown) {
        if (left.nodes <= 0) break;
        rows.push(h('li', {}, key !== null && [h('span', { class: 'v-key' }, JSON.stringify(key)), ': '], draw(value, depth + 1, left)));
    }
    if (rows.length < entries.length) rows.push(h('li', { class: 'muted' }, `… ${f.plural(entries.length - rows.length, 'entry', 'entries')} more`));
    return h('details', { open: depth < 3 }, h('summary', {}, open, h('span', { class: 'muted' }, ` ${f.plural(entries.length, 'entry', 'entries')} `), close), h('ul', {}, rows));
}
