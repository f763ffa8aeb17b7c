// What happens to all tasks, and to queues, crons and actors that somebody stopped, as it happens: the feed, with conditions, and true about what is missing.

import { traceback } from '../contents.js';
import { fill, h, setText } from '../dom.js';
import * as f from '../format.js';
import { follow, knownMethods } from '../live.js';
import { actorLink, badge, heading, onlyCard, taskLink } from '../parts.js';
import { sentence } from '../rights.js';
import { link, note } from '../router.js';

const MOST = 500; // rows that are kept
const EVENTS = ['submitted', 'queued', 'waiting', 'delayed', 'started', 'attempt_failed', 'timed_out', 'interrupted', 'fenced', 'retried', 'done', 'failed', 'cancelled', 'expired', 'dead', 'forgotten', 'queue_paused', 'queue_resumed', 'queue_draining', 'cron_paused', 'cron_resumed', 'actor_started', 'actor_stopped', 'actor_dropped', 'actor_type_changed'];
const STATES = ['queued', 'delayed', 'waiting', 'running', 'done', 'failed', 'cancelled', 'expired', 'dead'];
const TONE = { done: 'good', failed: 'bad', dead: 'bad', expired: 'bad', attempt_failed: 'bad', timed_out: 'bad', interrupted: 'warn', fenced: 'warn', lost: 'warn', started: 'busy', cancelled: 'dim', queue_paused: 'warn', queue_draining: 'warn', queue_resumed: 'good', cron_paused: 'warn', cron_resumed: 'good', actor_stopped: 'warn', actor_dropped: 'warn', actor_started: 'good' };
const KEYS = ['method', 'tenant', 'key', 'state', 'event'];

const GAPS = {
    overrun: (n) => `${f.plural(n, 'event')} missed: the server keeps only the last ones (tasks.events).`,
    behind: (n) => `${f.plural(n, 'event')} of all tasks passed over: more happens than is shown here. Conditions help.`,
    restart: () => 'The server was started anew: what happened last before that may be missing.',
};

export function view({ parameters }) {
    let filter = Object.fromEntries(KEYS.filter((key) => parameters.get(key)).map((key) => [key, parameters.get(key)]));
    let stop = () => {}, held = null, after = 'oldest', rows = 0;
    const list = h('ol', { class: 'events', tabindex: '0', 'aria-label': 'Events' }), log = h('div', { role: 'log', 'aria-label': 'Events', 'aria-live': 'off' }, list);
    const nothing = h('p', { class: 'empty' }, 'Nothing has happened yet.');
    const said = h('p', { class: 'said', hidden: true, role: 'alert' }), status = h('span', { class: 'muted', role: 'status' });
    const pause = h('button', { type: 'button', 'aria-pressed': 'false', title: 'keeps what is shown in place (p)', onclick: hold }, 'Hold');
    const suggestions = h('datalist', { id: 'event-methods' });
    const text = (key, title, more = {}) => h('label', { class: 'field' }, h('span', {}, title), h('input', { type: 'search', name: key, autocomplete: 'off', spellcheck: 'false', value: filter[key] ?? '', onchange: choose, onsearch: choose, ...more }));
    const select = (key, title, words) => h('label', { class: 'field' }, h('span', {}, title), h('select', { name: key, onchange: choose }, ['', ...words].map((word) => h('option', { value: word, selected: (filter[key] ?? '') === word }, word ? word.replaceAll('_', ' ') : 'any'))));
    const method = text('method', 'method', { list: 'event-methods' });
    const form = h('form', { class: 'filters', role: 'search', 'aria-label': 'Conditions', onsubmit: (event) => { event.preventDefault(); choose(); } },
        method, text('tenant', 'tenant'), text('key', 'key'), select('state', 'state', STATES), select('event', 'event', EVENTS), h('button', { type: 'submit', class: 'hide' }, 'Apply'), suggestions);

    function choose() {
        const wanted = Object.fromEntries(KEYS.map((key) => [key, form.elements.namedItem(key).value.trim()]).filter(([, value]) => value));
        if (JSON.stringify(wanted) === JSON.stringify(filter)) return;
        filter = wanted;
        note(link('events', null, filter));
        after = 'oldest';
        rows = 0;
        list.replaceChildren();
        begin();
    }

    function begin() {
        stop();
        said.hidden = true;
        draw();
        if (held === null) stop = follow({ ...filter, after }, take);
    }

    function hold() {
        held = held === null ? [] : null;
        pause.setAttribute('aria-pressed', String(held !== null));
        setText(pause, held === null ? 'Hold' : 'Go on');
        if (held !== null) {
            stop();
            draw();
        } else {
            begin(); // where it was: the server says whether something is missing since
        }
    }

    // What an event is of: a task, a cron, an actor or a type of actors, a queue.
    const subject = (e) => {
        if (e.id) return taskLink(e.id);
        if (e.cron) return h('a', { href: link('crons') }, `cron ${f.name(e.cron)}`);
        if (!e.actor) return h('span', { class: 'muted' }, 'queue');
        return e.event === 'actor_type_changed' ? h('a', { href: link('actors', null, { type: e.actor }) }, `type ${f.name(e.actor)}`) : actorLink(e.actor, e.tenant);
    };

    const row = (e) => h('li', { class: `event-row ${TONE[e.event] ?? 'plain'}`, 'data-seq': e.seq },
        h('time', { datetime: f.moment(e.at), title: f.moment(e.at) }, f.time(e.at)),
        badge(e.event.replaceAll('_', ' '), TONE[e.event] ?? 'plain'),
        subject(e),
        e.method && h('a', { href: link('tasks', null, { method: e.method }), class: 'id method' }, f.name(e.method)),
        h('span', { class: 'text' }, e.attempt > 1 && h('span', { class: 'muted' }, `attempt ${e.attempt} `), e.reason && h('span', { class: 'muted' }, `${e.reason} `), e.text !== null && f.name(e.text), traceback(e.traceback)),
        h('span', { class: 'muted whose' }, f.name(e.tenant), e.key !== null && e.key !== undefined && [' · ', f.name(e.key)]));

    // The newest are at the top; a line says what is missing between two.
    function take(page) {
        if (page.error) {
            setText(said, sentence({ code: page.error.code, message: page.error.text }));
            said.hidden = false;
            return;
        }
        if (page.next) after = page.next;
        if (page.gap) list.prepend(h('li', { class: 'gap' }, GAPS[page.gap]?.(page.missed ?? 0) ?? `Something is missing: ${page.gap}.`));
        for (const e of page.events) list.prepend(row(e));
        rows += page.events.length;
        while (list.children.length > MOST) list.lastElementChild.remove();
        draw();
    }

    function draw() {
        nothing.hidden = list.children.length > 0;
        setText(nothing, Object.keys(filter).length ? 'No event meets these conditions yet.' : 'Nothing has happened yet.');
        list.hidden = list.children.length === 0;
        setText(status, [held !== null ? 'held: nothing is added' : '', rows > MOST ? `the last ${MOST} of ${f.count(rows)}` : rows ? f.plural(rows, 'event') : ''].filter(Boolean).join('; '));
    }

    function update() {
        const names = knownMethods();
        if (suggestions.children.length !== names.length) fill(suggestions, names.map((name) => h('option', { value: name })));
    }

    begin();
    return {
        element: h('div', {}, heading('Events', status, pause), form, said, onlyCard('Events', log, nothing)),
        title: 'Events', update, hold, search: () => method.querySelector('input').focus(), refresh: begin, close: () => stop(),
    };
}
