// Crons: what is submitted by calendar.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { heading, onlyCard, taskLink } from '../parts.js';
import { link } from '../router.js';
import { makeTable } from '../table.js';

export function view() {
    const then = () => list.now();
    const table = makeTable({
        label: 'Crons', key: (c) => JSON.stringify([c.tenant, c.name]), empty: 'There are no crons.', shade: (c) => (c.error ? 'stuck' : ''),
        columns: [
            { title: 'name', kind: 'id', text: (c) => f.name(c.name) },
            { title: 'schedule', kind: 'id', text: (c) => f.name(c.schedule), hint: (c) => f.name(c.zone) },
            { title: 'zone', kind: 'late', text: (c) => f.name(c.zone) },
            { title: 'method', kind: 'id', draw: (c) => h('a', { href: link('tasks', null, { method: c.method }) }, f.name(c.method)), changes: (c) => c.method },
            { title: 'next', kind: 'number', text: (c) => f.ago(c.next), hint: (c) => f.moment(c.next) },
            { title: 'last', kind: 'number', text: (c) => (c.last === null ? 'never' : f.ago(c.last)), hint: (c) => f.moment(c.last) },
            { title: 'last task', kind: 'id', draw: (c) => (c.last_task ? taskLink(c.last_task) : ''), changes: (c) => c.last_task },
            { title: 'fired', kind: 'number', text: (c) => f.count(c.fired), hint: () => 'since the server’s start' },
            { title: 'skipped', kind: 'number late', text: (c) => f.count(c.skipped), hint: () => 'since the server’s start' },
            { title: 'tenant', kind: 'late', text: (c) => f.name(c.tenant), hint: (c) => (c.made_by ? `made by ${f.name(c.made_by)}` : '') },
            { title: 'error', kind: 'wide', text: (c) => (c.error === null ? '' : f.name(c.error)) },
            {
                title: '', kind: 'actions', changes: (c) => [c.name, c.tenant],
                draw: (c) => actionButton({ label: 'Delete', method: 'cron.delete', danger: true, params: [c.name, { tenant: c.tenant }], question: `Delete the cron ${f.name(c.name)}?`, detail: 'It submits no more tasks; those that it has submitted stay.', said: (was) => (was ? `The cron ${f.name(c.name)} is deleted.` : `There was no cron ${f.name(c.name)} any more.`), then }),
            },
        ],
    });
    const list = lister({ method: 'cron.list', table, ask: async () => (await call('cron.list')).sort((a, b) => (a.next ?? Infinity) - (b.next ?? Infinity)) });
    return { element: h('div', {}, heading('Crons'), list.said, onlyCard('Crons', table.element)), title: 'Crons', table, refresh: list.now, close: list.stop };
}
