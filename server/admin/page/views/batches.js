// Batches, newest first, a page at a time.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { makePager } from '../pager.js';
import { badge, bar, batchLink, heading, onlyCard } from '../parts.js';
import { go, link, note } from '../router.js';
import { makeTable } from '../table.js';

const PAGE = 100;
const KEYS = ['state', 'tenant'];
const STATES = ['open', 'closed', 'cancelling', 'ending', 'ended'];
const TONE = { open: 'busy', closed: 'busy', cancelling: 'warn', ending: 'busy' };

const number = (title, of, kind = '') => ({ title, kind: `number ${kind}`, text: (b) => f.count(of(b)), hint: (b) => f.exact(of(b)) });

export const endedOf = (b) => b.total - b.open;
const failedOf = (b) => endedOf(b) - b.done;

/** Its state; of one that has ended, how. */
export const stateOf = (b) => badge(b.outcome ?? b.state, b.outcome ? undefined : TONE[b.state]);

/** How many of its members have ended. */
export const shareOf = (b) => [bar(endedOf(b), b.total, `${f.exact(endedOf(b))} of ${f.plural(b.total, 'member')} ended`), ` ${f.count(endedOf(b))}/${f.count(b.total)}`];

/** The buttons that close a batch and cancel it. */
export function batchActions(b, then) {
    return [
        b.state === 'open' && actionButton({ label: 'Close', method: 'batch.close', params: [b.id], title: 'it ends with its last open member', said: (r) => `The batch ${b.id} is ${r.state}.`, then }),
        ['open', 'closed'].includes(b.state) && actionButton({
            label: 'Cancel', method: 'batch.cancel', danger: true, params: [b.id], does: `Cancel the batch ${b.id}`, keep: 'Let it go on',
            detail: 'Its open members are cancelled, also those of batches within it. Of what follows only on_end is submitted.', said: (r) => `The batch ${b.id} is ${r.state}.`, then,
        }),
    ];
}

/** Batches, one a row; `without`: columns that are left out. */
export function batchesTable({ label, empty, then, without = [] }) {
    return makeTable({
        label, empty, key: (b) => b.id, open: (b) => go(link('batch', b.id)),
        columns: [
            { title: 'batch', kind: 'id', draw: (b) => batchLink(b.id), changes: (b) => b.id },
            { title: 'state', kind: 'state', draw: stateOf, changes: (b) => [b.state, b.outcome] },
            { title: 'progress', kind: 'wide', draw: shareOf, changes: (b) => [endedOf(b), b.total] },
            number('open', (b) => b.open, 'late'), number('not done', failedOf),
            { title: 'tenant', kind: 'late', text: (b) => f.name(b.tenant) },
            { title: 'parent', kind: 'id late', draw: (b) => (b.parent ? batchLink(b.parent) : ''), changes: (b) => b.parent },
            { title: 'durable', kind: 'later', text: (b) => f.name(b.durable) },
            { title: 'created', kind: 'number', text: (b) => f.ago(b.created), hint: (b) => f.moment(b.created) },
            { title: 'took', kind: 'number late', text: (b) => (b.ended ? f.between(b.created, b.ended) : ''), hint: (b) => f.moment(b.ended) },
            { title: 'what refused it', kind: 'clip wide-clip', text: (b) => (b.error === null ? '' : f.name(b.error)), hint: (b) => (b.error === null ? '' : f.name(b.error)) },
            { title: '', kind: 'actions', changes: (b) => [b.id, b.state], draw: (b) => batchActions(b, then) },
        ].filter((column) => !without.includes(column.title)),
    });
}

/** A list of the batches that `filter()` selects, with its pages. */
export function batchesList({ table, filter, size = PAGE, shown = () => {} }) {
    const pages = makePager({
        one: 'batch', many: 'batches', words: ['Newer', 'Older'], size, then: () => list.now(),
        ask: async (limit, cursor) => { const { batches, next } = await call('batch.list', [{ ...filter(), limit, ...cursor }]); return { rows: batches, next }; },
    });
    const list = lister({ method: 'batch.list', table, ask: () => pages.page(), shown: (rows) => { pages.shown(rows); shown(rows); } });
    return { ...list, pages };
}

export function view({ parameters }) {
    let filter = Object.fromEntries(KEYS.filter((key) => parameters.get(key)).map((key) => [key, parameters.get(key)]));
    const states = h('label', { class: 'field' }, h('span', {}, 'state'), h('select', { name: 'state', onchange: choose }, ['', ...STATES].map((state) => h('option', { value: state, selected: (filter.state ?? '') === state }, state || 'any'))));
    const tenant = h('input', { type: 'search', name: 'tenant', autocomplete: 'off', spellcheck: 'false', value: filter.tenant ?? '', onchange: choose, onsearch: choose });
    const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Conditions', onsubmit: (event) => { event.preventDefault(); choose(); } },
        states, h('label', { class: 'field' }, h('span', {}, 'tenant'), tenant), h('button', { type: 'submit', class: 'hide' }, 'Apply'));

    const table = batchesTable({ label: 'Batches', empty: 'No batch matches, or there is none. `ergon batch create` makes one.', then: () => list.now() });
    const list = batchesList({ table, filter: () => filter });

    function choose() {
        const wanted = Object.fromEntries(KEYS.map((key) => [key, form.elements.namedItem(key).value.trim()]).filter(([, value]) => value));
        if (JSON.stringify(wanted) === JSON.stringify(filter)) return;
        filter = wanted;
        note(link('batches', null, filter));
        list.pages.first();
    }

    return {
        element: h('div', {}, heading('Batches'), form, list.said, onlyCard('Batches', table.element), list.pages.element),
        title: 'Batches', table, search: () => tenant.focus(), refresh: list.now, previous: () => list.pages.turn(-1), next: () => list.pages.turn(1), close: list.stop,
    };
}
