// Actors, by name, a page at a time, and their types.

import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { makePager } from '../pager.js';
import { actorAddress, actorLink, card, heading, onlyCard } from '../parts.js';
import { go, link, note } from '../router.js';
import { makeTable } from '../table.js';
import { actorActions, stageOf, typeOf } from './actor.js';

const PAGE = 100;
const KEYS = ['prefix', 'type', 'stage', 'tenant'];
const STAGES = ['active', 'sleeping', 'stopped'];

const number = (title, name, kind = '') => ({ title, kind: `number ${kind}`, text: (t) => f.count(t[name]), hint: (t) => f.exact(t[name]) });

// How many failures in which time stop an actor.
const intensity = (t) => (t.intensity ? `${f.count(t.intensity)} in ${f.duration(t.window)}` : 'none');

function makeTypes() {
    const stepped = new Set();
    const table = makeTable({
        label: 'Types', key: (t) => t.type, open: (t) => go(link('actors', null, { type: t.type })), empty: 'No type is known: the first worker or module that offers one makes it so.',
        columns: [
            { title: 'type', kind: 'id', draw: (t) => h('a', { href: link('actors', null, { type: t.type }) }, f.name(t.type)), changes: (t) => t.type },
            { title: 'durable', text: (t) => f.name(t.durable) },
            number('schema', 'schema', 'late'),
            { title: 'stepped', kind: 'late', text: (t) => (t.steps ? 'yes' : 'no') },
            number('actors', 'actors'), number('active', 'active'), number('stopped', 'stopped'),
            { title: 'on failure', kind: 'late', text: (t) => f.name(t.on_failure) },
            { title: 'failures that stop', kind: 'number late', text: intensity },
            { title: 'supervisor', kind: 'id later', draw: (t) => (t.supervisor ? actorLink(t.supervisor) : ''), changes: (t) => t.supervisor },
        ],
    });
    const ask = async () => (await call('actor.types')).sort((a, b) => (a.type < b.type ? -1 : 1));
    return { table, list: lister({ method: 'actor.types', table, every: 5000, ask, shown: (types) => types.forEach((t) => t.steps && stepped.add(t.type)) }), steps: (a) => stepped.has(typeOf(a.actor)) };
}

export function view({ parameters }) {
    let filter = Object.fromEntries(KEYS.filter((key) => parameters.get(key)).map((key) => [key, parameters.get(key)]));
    const text = (key, title) => h('label', { class: 'field' }, h('span', {}, title), h('input', { type: 'search', name: key, autocomplete: 'off', spellcheck: 'false', value: filter[key] ?? '', onchange: choose, onsearch: choose }));
    const stages = h('label', { class: 'field' }, h('span', {}, 'stage'), h('select', { name: 'stage', onchange: choose }, ['', ...STAGES].map((stage) => h('option', { value: stage, selected: (filter.stage ?? '') === stage }, stage || 'any'))));
    const prefix = text('prefix', 'name begins with');
    const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Conditions', onsubmit: (event) => { event.preventDefault(); choose(); } },
        prefix, text('type', 'type'), stages, text('tenant', 'tenant'), h('button', { type: 'submit', class: 'hide' }, 'Apply'));

    const then = () => list.now();
    const table = makeTable({
        label: 'Actors', key: (a) => JSON.stringify([a.tenant, a.actor]), open: (a) => go(actorAddress(a.actor, a.tenant)),
        empty: 'No actor matches, or there is none. The first message makes one: `ergon actor call TYPE/KEY METHOD`.', shade: (a) => (a.stage === 'stopped' ? 'held' : ''),
        columns: [
            { title: 'actor', kind: 'id', draw: (a) => actorLink(a.actor, a.tenant), changes: (a) => [a.actor, a.tenant] },
            { title: 'tenant', kind: 'late', text: (a) => f.name(a.tenant) },
            { title: 'stage', kind: 'state', draw: stageOf, changes: (a) => [a.stage, a.turn?.method] },
            number('waiting', 'waiting'),
            { title: 'oldest', kind: 'number', text: (a) => (a.oldest ? f.duration(Math.max(0, f.now() - a.oldest)).replace(/\.\d+/, '') : '–'), hint: (a) => f.moment(a.oldest) },
            { title: 'next', kind: 'number late', text: (a) => (a.next ? f.ago(a.next) : '–'), hint: (a) => f.moment(a.next) },
            number('version', 'version'), number('schema', 'schema', 'later'),
            { title: 'durable', kind: 'later', text: (a) => f.name(a.durable) },
            number('failures', 'failures', 'late'),
            { title: 'why it is stopped', kind: 'clip wide-clip', text: (a) => (a.stopped === null ? '' : f.name(a.stopped)), hint: (a) => (a.stopped === null ? '' : f.name(a.stopped)) },
            { title: '', kind: 'actions', changes: (a) => [a.actor, a.tenant, a.stage, types.steps(a)], draw: (a) => actorActions(a, { steps: types.steps(a), then }) },
        ],
    });
    const pages = makePager({
        one: 'actor', words: ['Before', 'Next'], size: PAGE, then,
        ask: async (limit, cursor) => { const { actors, next } = await call('actor.list', [{ ...filter, limit, ...cursor }]); return { rows: actors, next }; },
    });
    const list = lister({ method: 'actor.list', table, ask: () => pages.page(), shown: (rows) => pages.shown(rows) });
    const types = makeTypes();

    function choose() {
        const wanted = Object.fromEntries(KEYS.map((key) => [key, form.elements.namedItem(key).value.trim()]).filter(([, value]) => value));
        if (JSON.stringify(wanted) === JSON.stringify(filter)) return;
        filter = wanted;
        note(link('actors', null, filter));
        pages.first();
    }

    return {
        element: h('div', {}, heading('Actors'), form, list.said, onlyCard('Actors', table.element), pages.element, card('Types', types.list.said, types.table.element)),
        title: 'Actors', table, search: () => prefix.querySelector('input').focus(), refresh: () => { list.now(); types.list.now(); }, previous: () => pages.turn(-1), next: () => pages.turn(1),
        close: () => { list.stop(); types.list.stop(); },
    };
}
