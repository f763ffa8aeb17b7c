// What a task was given, and the tracebacks of its attempts: text of somebody's, folded, and shown to those who may see it.

import { call } from './api.js';
import { tell } from './ask.js';
import { fill, h } from './dom.js';
import * as f from './format.js';
import { jsonText } from './json.js';
import { learn, sentence } from './rights.js';

const SHORT = 400;   // characters of parameters that need not be folded
const PARTS = 65536; // characters in a text node

/** Text that may be long, in lines as it is; it scrolls by itself, also by the keyboard. */
const block = (label, text) => h('pre', { class: 'block', tabindex: '0', role: 'group', 'aria-label': label }, parts(text));

// Browsers lay out several texts sooner than one of some MB.
const parts = (text) => Array.from({ length: Math.ceil(text.length / PARTS) }, (_, n) => text.slice(n * PARTS, (n + 1) * PARTS));

/** A traceback of `size` bytes, folded; null: there is none.  `text` null: it is hidden. */
export function traceback(text, size = null) {
    if (text === null || text === undefined) return size > 0 ? h('div', { class: 'muted' }, `Its traceback (${f.bytes(size)}) is hidden: that needs the right task.params.`) : null;
    return h('details', { class: 'traceback' }, h('summary', {}, 'Traceback', size !== null && h('span', { class: 'muted' }, ` ${f.bytes(size)}`)), block('Traceback', text));
}

/** Why the parameters of a task are not shown, as a sentence; null: they are. */
export function whyHidden(task) {
    switch (task.params_hidden) {
    case null: case undefined: return null;
    case 'secret': return `The worker or module of ${f.name(task.method)} keeps its parameters secret.`;
    case 'denied': return 'You do not have the right task.params.';
    default: return f.name(task.params_hidden);
    }
}

const copyButton = (text) => h('button', { type: 'button', class: 'quiet', onclick: () => navigator.clipboard?.writeText(text()).then(() => tell('The parameters are copied.'), () => {}) }, 'Copy');

/** The parameters of a task as task.get tells them with `params_text`. */
export function parameters(task) {
    const size = h('span', { class: 'muted' }, f.bytes(task.params_size)), why = whyHidden(task);
    if (why !== null) return h('p', { class: 'muted' }, 'Hidden (', size, `). ${why}`);
    let text = task.params_text;
    const place = h('div', {}, block('Parameters', text)), said = h('p', { class: 'said', hidden: true, role: 'alert' });
    const all = h('button', { type: 'button', 'data-method': 'task.get', hidden: !isCut(text), onclick: showAll }, 'Show all');

    async function showAll() {
        all.disabled = true;
        try {
            const { params } = await call('task.get', [task.id, { result: false, params: true }], { raw: true });
            text = jsonText(params, (base64) => { const hex = f.hex(base64, Infinity); return `h'${hex}' (${f.plural(hex.length / 2, 'byte')})`; });
            fill(place, block('Parameters', text));
            all.hidden = said.hidden = true;
            place.firstElementChild.focus();
        } catch (error) {
            learn('task.get', error);
            fill(said, error.code === 'TOO_LARGE' ? ['They are too large for this page. On the command line: ', h('code', {}, `ergon task get --params ${task.id}`)] : sentence(error));
            said.hidden = false;
        }
        all.disabled = false;
    }

    return h('details', { class: 'params', open: text.length <= SHORT }, h('summary', {}, 'JSON ', size), place, said, h('div', { class: 'buttons' }, all, copyButton(() => text)));
}

// Also within: a long text or bytes may be cut.
const isCut = (text) => text.includes('…');
