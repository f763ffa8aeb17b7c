// Queues, one a method, and what each tenant holds.

import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { card, heading, onlyCard } from '../parts.js';
import { go, link } from '../router.js';
import { makeTable } from '../table.js';
import { queueActions, queueView, stateOf } from './queue.js';

const number = (title, name, kind = '') => ({ title, kind: `number ${kind}`, text: (q) => f.count(q[name]), hint: (q) => f.exact(q[name]) });

export const view = ({ what, parameters }) => (what ? queueView(what) : listView(parameters));

function listView(parameters) {
    const wanted = parameters.get('search') ?? '';
    const field = h('input', { type: 'search', 'aria-label': 'Methods that contain', autocomplete: 'off', spellcheck: 'false', value: wanted, oninput: () => show() });
    let all = [];

    const table = makeTable({
        label: 'Queues', key: (q) => q.method, open: (q) => go(link('queues', q.method)),
        empty: 'There are no queues yet: each method has one once a task of it was submitted.', shade: (q) => (q.paused || q.draining ? 'held' : ''),
        columns: [
            { title: 'method', kind: 'id', draw: (q) => h('a', { href: link('queues', q.method) }, f.name(q.method)), changes: (q) => q.method },
            { title: 'kind', kind: 'late', text: (q) => q.kind ?? '–', hint: (q) => (q.kind === null ? 'nobody offers this method now' : '') },
            { title: 'state', kind: 'state', draw: stateOf, changes: (q) => [q.paused, q.draining] },
            number('queued', 'queued'), number('waiting', 'waiting'), number('delayed', 'delayed'),
            { title: 'running', kind: 'number', text: (q) => f.count(q.running + q.parked + q.assigned), hint: (q) => `${q.running} running, ${q.parked} parked, ${q.assigned} assigned` },
            { title: 'oldest', kind: 'number', text: (q) => (q.oldest ? f.duration(Math.max(0, f.now() - q.oldest)).replace(/\.\d+/, '') : '–'), hint: (q) => f.moment(q.oldest) },
            number('submitted', 'submitted', 'late'), number('done', 'done'), number('failed', 'failed'),
            { title: '', kind: 'actions', draw: (q) => queueActions(q, () => list.now()), changes: (q) => [q.paused, q.draining] },
        ],
    });
    const show = () => table.rows(all.filter((q) => f.name(q.method).toLowerCase().includes(field.value.trim().toLowerCase())));
    const list = lister({ method: 'queue.list', table, ask: async () => { all = (await call('queue.list')).sort((a, b) => (f.name(a.method) < f.name(b.method) ? -1 : 1)); show(); return null; } });

    const tenants = makeTable({
        label: 'Tenants', key: (t) => f.name(t.tenant), open: (t) => go(link('tasks', null, { tenant: t.tenant })), empty: 'No tenant holds anything.',
        columns: [
            { title: 'tenant', kind: 'id', draw: (t) => h('a', { href: link('tasks', null, { tenant: t.tenant }) }, f.name(t.tenant)), changes: (t) => t.tenant },
            { title: 'weight', kind: 'number', text: (t) => f.count(t.weight) },
            { title: 'open tasks', kind: 'number', text: (t) => f.count(t.open), hint: (t) => f.exact(t.open) },
            { title: 'their size', kind: 'number', text: (t) => f.bytes(t.open_bytes), hint: (t) => f.exact(t.open_bytes, 'bytes') },
            { title: 'ended, kept', kind: 'number', text: (t) => f.count(t.ended), hint: (t) => f.exact(t.ended) },
            { title: 'failed or dead', kind: 'number', text: (t) => f.count(t.ended_badly), hint: (t) => f.exact(t.ended_badly) },
            { title: 'size of these', kind: 'number', text: (t) => f.bytes(t.ended_bytes), hint: (t) => f.exact(t.ended_bytes, 'bytes') },
            { title: 'limits in use', kind: 'number', text: (t) => f.count(t.limits), hint: (t) => f.exact(t.limits) },
            { title: 'rates in use', kind: 'number', text: (t) => f.count(t.rates), hint: (t) => f.exact(t.rates) },
        ],
    });
    const byTenant = lister({ method: 'queue.tenants', table: tenants, every: 5000, ask: async () => (await call('queue.tenants')).tenants.sort((a, b) => b.open - a.open) });

    return {
        element: h('div', {}, heading('Queues', null, h('label', { class: 'field' }, h('span', {}, 'method'), field)), list.said, onlyCard('Queues', table.element), card('Tenants', byTenant.said, tenants.element)),
        title: 'Queues', table, search: () => field.focus(), refresh: () => { list.now(); byTenant.now(); }, close: () => { list.stop(); byTenant.stop(); },
    };
}
