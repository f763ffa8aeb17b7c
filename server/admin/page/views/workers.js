// Workers: who offers what, what they have, and since when.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { badge, bar, heading, onlyCard, taskLink } from '../parts.js';
import { link } from '../router.js';
import { makeTable } from '../table.js';

const SHOWN = 6;   // methods of a worker in its row
const MOST = 1000; // the server's most on a page

// The first methods of a worker, and how many there are besides.
function offers(w, most) {
    const shown = w.methods.slice(0, most), more = w.method_count - shown.length;
    return shown.map(f.name).join(', ') + (more > 0 ? ` and ${f.count(more)} more` : '');
}

/** Workers; `then()` is called once one was made quiet, or resumed. */
export function workersTable(then, { empty = 'No worker is registered. `ergon worker --method NAME -- COMMAND` begins one.' } = {}) {
    const named = (w) => (w.name ? `${w.worker} (${f.name(w.name)})` : w.worker);
    return makeTable({
        label: 'Workers', key: (w) => w.worker, empty, shade: (w) => (w.late ? 'stuck' : w.state === 'quiet' ? 'held' : ''),
        columns: [
            { title: 'worker', kind: 'id', text: (w) => w.worker },
            { title: 'name', text: (w) => f.name(w.name) },
            { title: 'host', kind: 'later', text: (w) => f.name(w.host) },
            { title: 'version', kind: 'later', text: (w) => f.name(w.version) },
            { title: 'state', kind: 'state', draw: (w) => [badge(w.state, w.state === 'open' ? 'good' : 'warn'), w.late > 0 && badge(`${w.late} late`, 'bad')], changes: (w) => [w.state, w.late] },
            { title: 'methods', kind: 'wide id', text: (w) => offers(w, SHOWN), hint: (w) => (w.method_count > SHOWN ? offers(w, w.methods.length) : '') },
            { title: 'has', draw: (w) => [bar(w.out, w.slots, `${w.out} of ${w.slots} slots`), ` ${w.out}/${w.slots}`], changes: (w) => [w.out, w.slots] },
            { title: 'works on', kind: 'id', draw: (w) => w.calls.slice(0, 3).map((c) => h('div', {}, c.task ? taskLink(c.task) : f.name(c.method))), changes: (w) => w.calls.slice(0, 3).map((c) => [c.task, c.method]) },
            { title: 'longest', kind: 'number', text: (w) => (w.calls.length ? f.duration(w.calls[0].for_ms).replace(/\.\d+/, '') : ''), hint: (w) => w.calls.map((c) => `${f.name(c.method)} ${f.duration(c.for_ms)}`).join(', ') },
            { title: 'done', kind: 'number', text: (w) => f.count(w.done), hint: (w) => f.exact(w.done) },
            { title: 'failed', kind: 'number', text: (w) => f.count(w.failed), hint: (w) => f.exact(w.failed) },
            { title: 'mean', kind: 'number later', text: (w) => (w.done + w.failed ? f.duration(w.mean_ms) : '–') },
            { title: 'connection', kind: 'late', draw: (w) => h('a', { href: link('connections', null, { id: w.connection }) }, `${f.name(w.peer)}`), changes: (w) => [w.connection, w.peer], hint: (w) => f.name(w.principal) },
            {
                title: '', kind: 'actions', changes: (w) => w.state,
                draw: (w) => (w.state === 'open'
                    ? actionButton({ label: 'Quiet', method: 'worker.quiet', params: [w.worker], title: 'is given nothing more; what it has goes on', said: () => `${named(w)} is given nothing more.`, then })
                    : actionButton({ label: 'Resume', method: 'worker.resume', params: [w.worker], said: () => `${named(w)} works again.`, then })),
            },
        ],
    });
}

export function view() {
    const field = h('input', { type: 'search', 'aria-label': 'Workers of the method', autocomplete: 'off', spellcheck: 'false', onchange: () => list.now(), onsearch: () => list.now() });
    const note = h('span', { class: 'muted', role: 'status' });
    const table = workersTable(() => list.now());
    const list = lister({
        method: 'worker.list', table,
        ask: async () => {
            const page = await call('worker.list', [{ limit: MOST, ...(field.value.trim() ? { method: field.value.trim() } : {}) }]);
            note.textContent = [f.plural(page.workers.length, 'worker') + (page.next ? ', and there are more: name a method' : ''), page.away ? `${f.plural(page.away, 'loop')} passed over, since stuck` : ''].filter(Boolean).join('; ');
            return page.workers.sort((a, b) => Number(a.worker.slice(1)) - Number(b.worker.slice(1)));
        },
    });
    return {
        element: h('div', {}, heading('Workers', note, h('label', { class: 'field' }, h('span', {}, 'method'), field)), list.said, onlyCard('Workers', table.element)),
        title: 'Workers', table, search: () => field.focus(), refresh: list.now, close: list.stop,
    };
}
