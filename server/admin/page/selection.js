// The bar above the list of tasks: what is selected, and what can be done with all of it.

import { attempt } from './act.js';
import { call } from './api.js';
import { confirm, dialog, tell } from './ask.js';
import { h, setText, setTitle } from './dom.js';
import * as f from './format.js';
import { isOpen, taskLink } from './parts.js';
import { learn, mark, sentence, whyNot } from './rights.js';

const AT_ONCE = 6;   // calls in flight
const LISTED = 50;   // tasks that are named when they could not be changed
const LAST = ['GONE', 'AUTH']; // after such an error no other task is tried

// `fits`: what the method is for; `told`: the member of a filter's answer that counts; `did(answer)`: why nothing was done, or null.
const ACTS = [
    { method: 'task.retry', verb: 'Retry', told: 'retried', past: 'retried', fits: (t) => !isOpen(t) && t.state !== 'done', other: 'not failed, dead, expired or cancelled', did: () => null },
    { method: 'task.cancel', verb: 'Cancel', told: 'cancelled', past: 'cancelled', danger: true, fits: isOpen, other: 'ended already', did: (r) => (r.cancelled ? null : `It is ${r.state}, or other submissions still want it.`) },
    { method: 'task.forget', verb: 'Delete', told: 'forgotten', past: 'deleted', danger: true, fits: (t) => !isOpen(t), other: 'not ended yet', did: () => null },
];

const keep = (n) => (n === 1 ? 'Keep it' : 'Keep them');

/** Calls the method for each id; those of which nothing was done, as [{id, why}]. */
async function each(act, ids, progress) {
    const left = [...ids], failed = [];
    let over = null, n = 0;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let id; (id = left.shift()) !== undefined;) {
            let why = over;
            try {
                if (!why) why = act.did(await call(act.method, [id]));
            } catch (error) {
                learn(act.method, error);
                why = sentence(error);
                if (LAST.includes(error.code)) over = why;
            }
            if (why) failed.push({ id, why });
            progress(++n);
        }
    }));
    return failed;
}

function report(act, n, failed) {
    if (!failed.length) return tell(`${f.plural(n, 'task')} ${act.past}.`);
    return dialog(`${f.plural(n - failed.length, 'task')} ${act.past}, ${failed.length} not`,
        h('ul', { class: 'failed' }, failed.slice(0, LISTED).map(({ id, why }) => h('li', {}, taskLink(id), ' ', why))),
        failed.length > LISTED && h('p', { class: 'muted' }, `… and ${f.count(failed.length - LISTED)} more`));
}

/** `picked()` as in picks.js; `conditions()` for a method with a filter, or null where it takes none of these; `words()` say them; `then()` shows the list anew. */
export function selectionBar({ picked, conditions, words, then }) {
    let all = false, busy = false; // `all`: what matches the conditions, on any page
    const page = h('input', { type: 'checkbox', onclick: () => { all = false; picked().all(page.checked); } });
    const status = h('span', { class: 'muted', role: 'status' });
    const buttons = ACTS.map((act) => ({ act, button: h('button', { type: 'button', class: act.danger ? 'danger' : null, 'data-method': act.method, onclick: () => run(act) }, act.verb) }));
    const match = h('button', { type: 'button', class: 'quiet', onclick: () => { all = true; picked().all(true); } }, 'Select all that match');
    const clear = h('button', { type: 'button', class: 'quiet', onclick: () => { all = false; picked().clear(); page.focus(); } }, 'Clear');
    const element = h('div', { class: 'selection', role: 'group', 'aria-label': 'Selected tasks' }, h('label', {}, page, ' this page'),
        h('span', { class: 'buttons' }, buttons.map(({ button }) => button)), status, match, clear);

    function sayable(rows, shown) {
        const away = [...rows.keys()].filter((id) => !shown.has(id)).length;
        return rows.size ? `${f.plural(rows.size, 'task')} selected${away ? `, ${f.exact(away)} not on this page` : ''}` : '';
    }

    /** The selection (`chosen`) or the list has changed. */
    function draw(chosen = false) {
        const rows = picked().rows(), shown = picked().shown(), here = shown.filter((id) => rows.has(id)).length;
        if (all && here < shown.length && !chosen) return picked().all(true);
        if (here < shown.length) all = false;
        page.checked = shown.length > 0 && here === shown.length;
        page.indeterminate = here > 0 && here < shown.length;
        page.disabled = shown.length === 0 || busy;
        element.classList.toggle('some', rows.size > 0);
        clear.hidden = rows.size === 0;
        match.hidden = all || shown.length === 0;
        match.disabled = conditions() === null;
        setTitle(match, match.disabled ? 'not with contains: select the tasks of each page' : 'also those on other pages; they are counted before anything is done');
        if (!busy) setText(status, all ? 'All that match selected' : sayable(rows, new Set(shown)));
        for (const { act, button } of buttons) {
            mark(button);
            if (whyNot(act.method) !== null) continue;
            const fit = [...rows.values()].some(act.fits);
            button.disabled = busy || !(all || fit);
            setTitle(button, rows.size && !all && !fit ? `all of these are ${act.other}` : '');
        }
    }

    async function run(act) {
        if (busy) return;
        busy = true;
        draw();
        await (all ? runAll(act) : runSome(act));
        busy = false;
        draw();
        then();
    }

    async function runSome(act) {
        const rows = picked().rows(), ids = [...rows.values()].filter(act.fits).map((t) => t.id), others = rows.size - ids.length;
        const does = `${act.verb} ${f.plural(ids.length, 'task')}`;
        if (!(await confirm(`${does}?`, { yes: does, no: keep(ids.length), danger: act.danger, detail: others ? `${f.plural(others, 'selected task is', 'selected tasks are')} ${act.other}: nothing is done to ${others === 1 ? 'it' : 'them'}.` : null }))) return;
        const failed = await each(act, ids, (n) => setText(status, `${f.exact(n)} of ${f.exact(ids.length)} …`));
        const not = new Set(failed.map(({ id }) => id));
        picked().drop(ids.filter((id) => !not.has(id)));
        report(act, ids.length, failed);
    }

    // What matches is counted first.
    async function runAll(act) {
        const filter = conditions(), counted = await attempt(act.method, [{ ...filter, dry_run: true }]);
        if (!counted) return;
        const n = counted[act.told];
        if (!n) return void tell(`No task matches that is not ${act.other}.`);
        const does = `${act.verb} ${f.plural(n, 'task')}`;
        if (!(await confirm(`${does}?`, { yes: does, no: keep(n), danger: act.danger, detail: words() || 'all tasks that you may see' }))) return;
        const did = await attempt(act.method, [filter]);
        if (!did) return;
        all = false;
        picked().clear();
        tell(`${f.plural(did[act.told], 'task')} ${act.past}.`);
    }

    return { element, draw, clear: () => { all = false; picked().clear(); } };
}
