// Short news (toasts) and questions (dialogs).

import { h } from './dom.js';

const SHOWN = 6000; // ms, of good news; bad news stay until they are closed

/** `text`: also nodes. */
export function tell(text, kind = 'good') {
    const close = h('button', { type: 'button', class: 'quiet icon', 'aria-label': 'Close this message', onclick: () => toast.remove() }, '×');
    const toast = h('div', { class: `toast ${kind}` }, h('span', {}, text), close);
    const all = document.getElementById('toasts');
    all.append(toast);
    while (all.children.length > 4) all.firstElementChild.remove();
    if (kind === 'good') setTimeout(() => toast.remove(), SHOWN);
}

/** Asks before something is done; resolves to whether it shall be.  `yes` and `no` say what each button does; the focus is on `no`. */
export function confirm(question, { yes, no: refusal, danger = false, detail = null }) {
    return new Promise((resolve) => {
        const no = h('button', { type: 'button', onclick: () => dialog.close('') }, refusal);
        const does = h('button', { type: 'button', class: danger ? 'danger' : 'primary', 'data-yes': true, onclick: () => dialog.close('yes') }, yes);
        const dialog = h('dialog', { class: 'ask', 'aria-label': question }, h('p', { class: 'question' }, question), detail && h('p', { class: 'muted' }, detail),
            h('div', { class: 'buttons' }, no, does));
        dialog.addEventListener('close', () => {
            dialog.remove();
            resolve(dialog.returnValue === 'yes');
        });
        document.body.append(dialog);
        dialog.showModal();
        no.focus();
    });
}

/** Shows something that is only to be read. */
export function dialog(title, ...inside) {
    const close = h('button', { type: 'button', class: 'primary', onclick: () => box.close() }, 'Close');
    const box = h('dialog', { class: 'help', 'aria-label': title }, h('h2', {}, title), inside, h('div', { class: 'buttons' }, close));
    box.addEventListener('close', () => box.remove());
    document.body.append(box);
    box.showModal();
    close.focus();
}

export const dialogIsOpen = () => document.querySelector('dialog[open]') !== null;
