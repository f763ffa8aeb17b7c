// One batch: how far it is, what follows its end, its members, and what can be done about it.

import { call } from '../api.js';
import { fillNew, h, setText } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { makePager } from '../pager.js';
import { bar, batchLink, card, ENDED, facts, heading, taskLink, tickTimes, when } from '../parts.js';
import { poll } from '../poll.js';
import { learn, sentence } from '../rights.js';
import { link } from '../router.js';
import { makeTable } from '../table.js';
import { batchActions, batchesList, batchesTable, endedOf, stateOf } from './batches.js';
import { tasksTable } from './tasks.js';

const LATEST = 20; // members
const CALLS = [['on_success', 'all members are done'], ['on_failure', 'the first one ended otherwise'], ['on_end', 'all have ended']];

function makeCalls() {
    return makeTable({
        label: 'What follows', key: (c) => c.name, empty: 'Nothing follows its end.',
        columns: [
            { title: 'call', kind: 'id', text: (c) => c.name },
            { title: 'method', kind: 'id', text: (c) => f.name(c.method) },
            { title: 'when', text: (c) => c.when },
            { title: 'task', kind: 'id', draw: (c) => (c.task ? taskLink(c.task) : h('span', { class: 'muted' }, 'not yet')), changes: (c) => c.task },
        ],
    });
}

// Its members that are tasks, with their pages.
function makeMembers(id) {
    const table = tasksTable({ label: 'Members', empty: 'None of its members is a task that is kept.' });
    const pages = makePager({
        one: 'task', words: ['Newer', 'Older'], size: LATEST, then: () => list.now(),
        ask: async (limit, cursor) => { const { tasks, next } = await call('task.list', [{ batch: id, limit, ...cursor }]); return { rows: tasks, next }; },
    });
    const list = lister({ method: 'task.list', table, ask: () => pages.page(), shown: (rows) => pages.shown(rows) });
    return { table, pages, list, element: card(['Members', h('a', { href: link('tasks', null, { batch: id }) }, 'all of them')], list.said, table.element, pages.element) };
}

// Its members that are batches; shown if there are any.
function makeWithin(id) {
    const table = batchesTable({ label: 'Batches within it', empty: 'No batch is within it.', without: ['parent'], then: () => list.now() });
    const list = batchesList({ table, size: LATEST, filter: () => ({ parent: id }), shown: (rows) => { if (rows.length) element.hidden = false; } });
    const element = card('Batches within it', list.said, table.element, list.pages.element);
    element.hidden = true;
    return { list, element };
}

export function view({ what: id }) {
    const parts = { state: h('span', {}), acts: h('div', { class: 'buttons' }), share: h('div', { class: 'progress' }), counts: h('div', { class: 'chips' }), facts: h('div', {}) };
    const said = h('p', { class: 'said', hidden: true, role: 'alert' }), refused = h('p', { class: 'error', hidden: true });
    const calls = makeCalls(), members = makeMembers(id), within = makeWithin(id);
    const rest = h('div', { class: 'stack one', hidden: true }, card('Status', parts.share, parts.counts, refused),
        h('div', { class: 'pair' }, card('Facts', parts.facts), card('What follows', calls.element)), within.element, members.element);
    const then = () => { polling.now(); members.list.now(); within.list.now(); };

    const count = (b, name, state) => h('a', { class: 'chip', href: link('tasks', null, { batch: id, state }) }, name, h('span', { class: 'n', title: f.exact(b[name]) }, f.count(b[name])));

    function draw(b) {
        rest.hidden = false;
        said.hidden = true;
        fillNew(parts.state, [b.state, b.outcome], () => stateOf(b));
        fillNew(parts.acts, b.state, () => batchActions(b, then));
        fillNew(parts.share, [endedOf(b), b.total], () => [bar(endedOf(b), b.total, 'Members that ended'), h('span', {}, `${f.count(endedOf(b))} of ${f.plural(b.total, 'member')} ended`)]);
        fillNew(parts.counts, [b.total, ...ENDED.map((state) => b[state])], () => [count(b, 'total', null), ENDED.filter((state) => b[state] > 0).map((state) => count(b, state, state))]);
        refused.hidden = b.error === null;
        setText(refused, b.error === null ? '' : `What follows is refused, and tried again: ${f.name(b.error)}`);
        fillNew(parts.facts, b, () => facts([
            ['state', b.outcome ? `ended: ${b.outcome}` : b.state], ['tenant', f.name(b.tenant)], b.parent && ['parent', batchLink(b.parent)], ['durable', f.name(b.durable)],
            ['created', when(b.created)], b.ended && ['ended', when(b.ended)], b.ended && ['took', f.between(b.created, b.ended)], ['kept for', f.duration(b.keep), 'after its end'],
        ]));
        tickTimes(parts.facts);
        calls.rows(CALLS.filter(([name]) => b[name]).map(([name, text]) => ({ name, when: text, ...b[name] })));
    }

    const polling = poll(async () => {
        try {
            draw(await call('batch.get', [id]));
        } catch (error) {
            learn('batch.get', error);
            if (error.code === 'GONE') return;
            const none = error.code === 'NOT_FOUND' || error.code === 'BAD_PARAMS'; // not even an id
            if (none) {
                rest.hidden = true;
                fillNew(parts.state, null);
                fillNew(parts.acts, null);
            }
            setText(said, none ? `There is no batch ${id}, or it is forgotten, or it is another tenant’s.` : sentence(error));
            said.hidden = false;
        }
    }, 1000);

    return {
        element: h('div', {}, heading('Batch', [h('code', { class: 'id' }, id), parts.state, h('a', { href: link('batches') }, 'all batches')], parts.acts), said, rest),
        title: `Batch ${id}`, table: members.table, back: () => history.back(), refresh: then, previous: () => members.pages.turn(-1), next: () => members.pages.turn(1),
        close: () => { polling.stop(); members.list.stop(); within.list.stop(); },
    };
}
