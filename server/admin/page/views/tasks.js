// Tasks, newest first, a page at a time.  Only one page is ever held, however many tasks the server keeps.

import { call } from '../api.js';
import { fill, h, setText, setTitle } from '../dom.js';
import * as f from '../format.js';
import { follow, knownMethods, live } from '../live.js';
import { lister } from '../lister.js';
import { makePager } from '../pager.js';
import { actorLink, badge, ENDED, heading, onlyCard, OPEN } from '../parts.js';
import { filterOf, readQuery, writeQuery } from '../query.js';
import { may } from '../rights.js';
import { go, link, note } from '../router.js';
import { selectionBar } from '../selection.js';
import { makeTable } from '../table.js';

const PAGE = 100;     // tasks on a page
const HINT = 1000;    // characters of parameters in a title

// Its parameters on a line, where they were asked for.
function paramsOf(t) {
    if (t.params_hidden === undefined) return '';
    return t.params_hidden === null ? t.params_text : `hidden: ${t.params_hidden === 'denied' ? 'no right task.params' : t.params_hidden}`;
}

/** Tasks, one a row; `without`: columns that are left out. */
export function tasksTable({ label, empty, pick = null, without = [] }) {
    return makeTable({
        label, pick, empty, key: (t) => t.id, open: (t) => go(link('task', t.id)),
        columns: [
            { title: 'task', kind: 'id', draw: (t) => h('a', { href: link('task', t.id) }, t.id), changes: (t) => t.id },
            { title: 'method', kind: 'id', text: (t) => f.name(t.method) },
            { title: 'state', kind: 'state', draw: (t) => [badge(t.state), !ENDED.includes(t.state) && t.reason && t.reason !== t.state && h('span', { class: 'muted' }, ` ${t.reason}`)], changes: (t) => [t.state, t.reason] },
            { title: 'key', kind: 'id clip', text: (t) => (t.key === null ? '' : f.name(t.key)), hint: (t) => (t.key === null ? '' : f.name(t.key)) },
            { title: 'actor', kind: 'id clip sent', draw: (t) => (t.actor ? actorLink(t.actor, t.tenant) : ''), changes: (t) => [t.actor, t.tenant] },
            { title: 'tenant', kind: 'late', text: (t) => f.name(t.tenant) },
            { title: 'attempt', kind: 'number late', text: (t) => f.count(t.attempt) },
            { title: 'submitted', kind: 'number', text: (t) => f.ago(t.created), hint: (t) => f.moment(t.created) },
            { title: 'took', kind: 'number late', text: (t) => (t.started && t.ended ? f.between(t.started, t.ended) : ''), hint: (t) => (t.started ? `began ${f.moment(t.started)}` : '') },
            { title: 'parameters', kind: 'id clip wide-clip given', text: (t) => paramsOf(t), hint: (t) => paramsOf(t).slice(0, HINT) },
            { title: 'error', kind: 'clip wide-clip late', text: (t) => (t.error === null ? '' : f.name(t.error)), hint: (t) => (t.error === null ? '' : f.name(t.error)) },
        ].filter((column) => !without.includes(column.title)),
    });
}

export function view({ parameters }) {
    let filter = filterOf(parameters);
    const controller = new AbortController();

    const suggestions = h('datalist', { id: 'methods' });
    const field = h('input', { type: 'search', id: 'search', 'aria-label': 'Search tasks', 'aria-describedby': 'search-help', list: 'methods', autocomplete: 'off', spellcheck: 'false', value: writeQuery({ ...filter, state: null }) });
    const wrong = h('p', { class: 'said', hidden: true, role: 'alert' });
    const chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'State' });
    const counted = h('span', { class: 'muted counted' }, 'Counts are of all tasks, not only of those that match.');
    const given = h('input', { type: 'checkbox', onchange: () => list.now() }), givenLabel = h('label', { class: 'field' }, given, 'parameters');

    const bar = selectionBar({ picked: () => table.picked, conditions: () => (filter.contains ? null : Object.keys(filter).length ? { ...filter } : { all: true }), words: () => writeQuery(filter), then: () => list.now() });
    const table = tasksTable({
        label: 'Tasks', pick: { name: (t) => t.id, changed: (chosen) => bar.draw(chosen) }, empty: 'No task matches, or there is none. `ergon task submit METHOD` leaves one.',
    });

    const pages = makePager({
        one: 'task', words: ['Newer', 'Older'], size: PAGE, isSlow: () => Boolean(filter.contains), then: () => list.now(),
        grow: (found) => { if (found.length > table.size()) table.rows(found); },
        ask: async (limit, cursor) => {
            const { tasks, next } = await call('task.list', [{ ...filter, limit, ...(given.checked || filter.contains ? { params_text: true } : {}), ...cursor }], { signal: controller.signal });
            return { rows: tasks, next };
        },
    });

    const list = lister({
        method: 'task.list', table, ask: () => pages.page(),
        shown: (rows) => {
            table.element.classList.toggle('with-given', rows.some((t) => t.params_hidden !== undefined));
            table.element.classList.toggle('with-sent', rows.some((t) => t.actor));
            pages.shown(rows);
        },
    });

    // Something has happened to tasks that may be on the page.  Of conditions the feed knows these; a task may come into a state, and leave it.
    let letFeed = () => {};
    function followFeed() {
        letFeed();
        const { method, tenant, key } = filter;
        letFeed = may('task.events') ? follow({ ...(method ? { method } : {}), ...(tenant ? { tenant } : {}), ...(key ? { key } : {}) }, (page) => { if (!page.error) list.soon(); }) : () => {};
    }
    followFeed();

    function choose(changed) {
        filter = Object.fromEntries(Object.entries(changed).filter(([, value]) => value));
        note(link('tasks', null, filter));
        drawChips();
        bar.clear();
        followFeed();
        pages.first();
    }

    function search(event) {
        event.preventDefault();
        const query = readQuery(field.value);
        wrong.hidden = !query.error;
        setText(wrong, query.error ?? '');
        if (query.error) return;
        if (query.id) go(link('task', query.id));
        else choose({ state: filter.state, ...query.filter });
        if (query.filter.state) field.value = writeQuery({ ...query.filter, state: null });
    }

    // A button for each state, with how many tasks are in it; they stay, and their figures change.
    const states = ['', ...OPEN, ...ENDED].map((state) => {
        const n = h('span', { class: 'n' }), button = h('button', { type: 'button', class: 'chip', 'data-state': state, onclick: () => choose({ ...filter, state }) }, state || 'all', n);
        chips.append(button);
        return { state, n, button };
    });
    chips.append(counted);
    function drawChips() {
        // The server counts all tasks by state; of those that meet other conditions nobody knows how many there are.
        const kept = live.last?.info?.kept, some = Object.keys(filter).some((name) => name !== 'state');
        counted.hidden = !some || !kept;
        for (const { state, n, button } of states) {
            const figure = state ? kept?.states?.[state] : kept?.held, on = (filter.state ?? '') === state;
            setText(n, figure === undefined ? '' : f.count(figure));
            setTitle(n, f.exact(figure));
            button.classList.toggle('on', on);
            button.setAttribute('aria-pressed', String(on));
        }
    }

    drawChips();
    if (parameters.get('search')) queueMicrotask(() => field.focus());

    function update() {
        drawChips();
        const names = knownMethods();
        if (suggestions.children.length !== names.length) fill(suggestions, names.map((name) => h('option', { value: `method:${name}` })));
    }

    return {
        element: h('div', {}, heading('Tasks'),
            h('form', { class: 'search', role: 'search', onsubmit: search }, field, h('button', { type: 'submit' }, 'Search'), suggestions),
            h('p', { class: 'muted help-line', id: 'search-help' }, 'a method or a task’s id, or ', ['method:', 'tenant:', 'key:', 'actor:', 'batch:', 'contains:"a text of its parameters"', 'older:1h', 'newer:10m'].map((w) => [h('code', {}, w), ' ']), '– press / to search'),
            wrong, chips, list.said, onlyCard('Tasks', h('div', { class: 'above' }, bar.element, givenLabel), table.element), pages.element),
        title: 'Tasks', table, update, back: bar.clear, search: () => field.focus(), refresh: list.now, previous: () => pages.turn(-1), next: () => pages.turn(1),
        close: () => { letFeed(); controller.abort(); list.stop(); },
    };
}
