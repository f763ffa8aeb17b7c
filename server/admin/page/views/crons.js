// Crons: what is submitted by calendar.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { badge, heading, onlyCard, taskLink } from '../parts.js';
import { link } from '../router.js';
import { makeTable } from '../table.js';

export function view() {
    const then = () => list.now();
    const table = makeTable({
        label: 'Crons', key: (c) => JSON.stringify([c.tenant, c.name]), empty: 'There are no crons. `ergon cron put NAME SCHEDULE METHOD` makes one.', shade: (c) => (c.error ? 'stuck' : c.paused ? 'held' : ''),
        columns: [
            { title: 'name', kind: 'id', text: (c) => f.name(c.name) },
            { title: 'state', kind: 'state', draw: (c) => badge(c.paused ? 'paused' : 'open', c.paused ? 'warn' : 'good'), changes: (c) => c.paused },
            { title: 'schedule', kind: 'id', text: (c) => f.name(c.schedule), hint: (c) => f.name(c.zone) },
            { title: 'zone', kind: 'later', text: (c) => f.name(c.zone) },
            { title: 'method', kind: 'id', draw: (c) => h('a', { href: link('tasks', null, { method: c.method }) }, f.name(c.method)), changes: (c) => c.method },
            { title: 'next', kind: 'number', text: (c) => (c.next === null ? '–' : f.ago(c.next)), hint: (c) => (c.paused ? 'not while it is paused' : f.moment(c.next)) },
            { title: 'last', kind: 'number', text: (c) => (c.last === null ? 'never' : f.ago(c.last)), hint: (c) => f.moment(c.last) },
            { title: 'last task', kind: 'id', draw: (c) => (c.last_task ? taskLink(c.last_task) : ''), changes: (c) => c.last_task },
            { title: 'fired', kind: 'number', text: (c) => f.count(c.fired), hint: () => 'since the server’s start' },
            { title: 'skipped', kind: 'number late', text: (c) => f.count(c.skipped), hint: () => 'since the server’s start' },
            { title: 'tenant', kind: 'later', text: (c) => f.name(c.tenant), hint: (c) => (c.made_by ? `made by ${f.name(c.made_by)}` : '') },
            { title: 'error', kind: 'wide', text: (c) => (c.error === null ? '' : f.name(c.error)) },
            {
                title: '', kind: 'actions', changes: (c) => [c.name, c.tenant, c.paused],
                draw: (c) => {
                    const params = [c.name, { tenant: c.tenant }], name = f.name(c.name);
                    return [
                        actionButton({ label: 'Run now', method: 'cron.run', params, title: 'submits its task now, besides its calendar', said: (r) => [`The cron ${name} has submitted `, taskLink(r.id), '.'], then }),
                        c.paused
                            ? actionButton({ label: 'Resume', method: 'cron.resume', params, title: 'goes on with its next time', said: (r) => (r.next ? `The cron ${name} comes again ${f.ago(r.next)}.` : `The cron ${name} is resumed, but its time never comes.`), then })
                            : actionButton({ label: 'Pause', method: 'cron.pause', params, title: 'submits nothing until it is resumed', said: () => `The cron ${name} is paused.`, then }),
                        actionButton({ label: 'Delete', method: 'cron.delete', danger: true, params, does: `Delete the cron ${name}`, detail: 'It submits no more tasks; those that it has submitted stay.', said: (was) => (was ? `The cron ${name} is deleted.` : `There was no cron ${name} any more.`), then }),
                    ];
                },
            },
        ],
    });
    const list = lister({ method: 'cron.list', table, ask: async () => (await call('cron.list')).sort((a, b) => (a.next ?? Infinity) - (b.next ?? Infinity)) });
    return { element: h('div', {}, heading('Crons'), list.said, onlyCard('Crons', table.element)), title: 'Crons', table, refresh: list.now, close: list.stop };
}
