// Actions: a button that calls a method, says how it went, and is off where it is not allowed.

import { call } from './api.js';
import { confirm, tell } from './ask.js';
import { h } from './dom.js';
import { learn, mark, sentence } from './rights.js';

/** Calls, and tells what went wrong; the result, or undefined. */
export async function attempt(method, params) {
    try {
        return await call(method, params);
    } catch (error) {
        learn(method, error);
        tell(sentence(error), 'bad');
        return undefined;
    }
}

/** A button.  `does` is asked before ("Cancel the task t1"; `keep` refuses it), `said(result)` is told after, and `then(result)` brings the view up to date. */
export function actionButton({ label, method, params, does = null, keep = 'Keep it', detail = null, danger = false, said, then = () => {}, title = null, kind = '' }) {
    const button = h('button', { type: 'button', class: `${danger ? 'danger' : ''} ${kind}`.trim() || null, 'data-method': method, title, onclick: act }, label);

    async function act(event) {
        event.stopPropagation();
        if (does && !(await confirm(`${does}?`, { yes: does, no: keep, danger, detail }))) return;
        button.disabled = true;
        button.setAttribute('aria-busy', 'true');
        const result = await attempt(method, typeof params === 'function' ? params() : params);
        button.disabled = false;
        button.removeAttribute('aria-busy');
        mark(button);
        if (result === undefined) return;
        tell(said(result));
        then(result);
    }

    mark(button);
    return button;
}
