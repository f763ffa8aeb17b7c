// Semaphores; of one, who holds permits and who waits, in order.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { badge, bar, card, heading, onlyCard, taskLink } from '../parts.js';
import { go, link } from '../router.js';
import { whoami } from '../rights.js';
import { makeTable } from '../table.js';

// A task, a client, or a task that this principal may not see.
const who = (one) => (one.task === null ? f.name(one.principal) : one.task === '' ? 'another tenant’s task' : taskLink(one.task));

const linkOf = (s) => link('semaphores', s.name, { tenant: s.tenant === whoami()?.tenant ? null : s.tenant });

/** `tenant` null: one's own. */
function makeDetail(name, tenant) {
    const whose = tenant === null ? [] : [{ tenant }];
    const holders = makeTable({
        label: 'Holders', key: (o) => `${o.task} ${o.fence} ${o.principal}`, empty: 'Nobody holds a permit.',
        columns: [
            { title: 'holder', kind: 'id', draw: who, changes: (o) => [o.task, o.principal] },
            { title: 'permits', kind: 'number', text: (o) => f.count(o.permits) },
            { title: 'fence', kind: 'number late', text: (o) => (o.fence === null || o.fence === undefined ? '' : String(o.fence)) },
            { title: 'since', kind: 'number', text: (o) => f.ago(o.since), hint: (o) => f.moment(o.since) },
            { title: 'ends', kind: 'number', text: (o) => (o.ends_ms === null || o.ends_ms === undefined ? '–' : `in ${f.duration(o.ends_ms)}`) },
            { title: 'connection', kind: 'state', draw: (o) => (o.task !== null ? '' : o.connected ? badge('connected', 'good') : badge(`lost; kept for ${f.duration(o.grace_ms)}`, 'warn')), changes: (o) => [o.connected, o.grace_ms] },
            {
                title: '', kind: 'actions', changes: (o) => [o.fence, o.task],
                draw: (o) => (o.task !== null ? h('span', { class: 'muted', title: 'cancel the task: then it gives back what it has' }, 'a task’s') : actionButton({
                    label: 'Take back', method: 'sem.revoke', danger: true, params: [name, o.fence, ...whose],
                    does: `Take ${f.plural(o.permits, 'permit')} of ${name} back from ${f.name(o.principal)}`, keep: o.permits === 1 ? 'Leave it there' : 'Leave them there',
                    detail: `Whoever waits gets ${o.permits === 1 ? 'it' : 'them'} at once. ${f.name(o.principal)} is not stopped: it learns of it when it next renews or releases, and until then only the fence keeps it off what it works on.`,
                    said: (r) => `${f.plural(r.permits, 'permit')} of ${f.name(r.principal)} ${r.permits === 1 ? 'is' : 'are'} taken back.`, then: () => list.now(),
                })),
            },
        ],
    });
    const waiters = makeTable({
        label: 'Waiters', key: (o) => o.n, empty: 'Nobody waits.',
        columns: [
            { title: '', kind: 'number', text: (o) => `${o.n}.` },
            { title: 'who waits', kind: 'id', draw: who, changes: (o) => [o.task, o.principal] },
            { title: 'permits', kind: 'number', text: (o) => f.count(o.permits) },
            { title: 'for', kind: 'number', text: (o) => f.duration(o.waited_ms).replace(/\.\d+/, '') },
        ],
    });
    const list = lister({
        method: 'sem.explain', table: holders,
        ask: async () => {
            const sem = await call('sem.explain', [name, ...whose]);
            waiters.rows(sem.waiters.map((o, i) => ({ ...o, n: i + 1 })));
            return sem.holders;
        },
    });
    return { element: h('div', {}, list.said, h('div', { class: 'stack' }, card(`Holders of ${name}`, holders.element), card('Waiters, in order', waiters.element))), now: list.now, stop: list.stop };
}

export function view({ what, parameters }) {
    const tenant = parameters.get('tenant'), own = (s) => s.tenant === (whoami()?.tenant ?? s.tenant);
    const then = () => { list.now(); detail?.now(); };
    const detail = what ? makeDetail(what, tenant) : null;
    const isChosen = (s) => s.name === what && (tenant === null ? own(s) : s.tenant === tenant);
    const table = makeTable({
        label: 'Semaphores', key: (s) => JSON.stringify([s.tenant, s.name]), open: (s) => go(linkOf(s)), shade: (s) => (isChosen(s) ? 'chosen' : ''),
        empty: 'There are no semaphores. `ergon sem create NAME PERMITS` makes one.',
        columns: [
            { title: 'name', kind: 'id', draw: (s) => h('a', { href: linkOf(s) }, f.name(s.name)), changes: (s) => [s.name, s.tenant] },
            { title: 'tenant', kind: 'late', text: (s) => f.name(s.tenant) },
            { title: 'taken', draw: (s) => [bar(s.permits - s.free, s.permits, `${s.permits - s.free} of ${s.permits} permits are taken`), ` ${s.permits - s.free}/${s.permits}`], changes: (s) => [s.free, s.permits] },
            { title: 'held by clients', kind: 'number', text: (s) => f.count(s.held) },
            { title: 'waiting', kind: 'number', text: (s) => f.count(s.waiting) },
            { title: 'durable', kind: 'late', text: (s) => (s.durable ? 'yes' : 'no') },
            {
                title: '', kind: 'actions', changes: (s) => [s.name, s.tenant],
                draw: (s) => own(s) && actionButton({ label: 'Delete', method: 'sem.delete', danger: true, params: [s.name], does: `Delete the semaphore ${f.name(s.name)}`, detail: 'It goes when nobody holds or waits for it.', said: (was) => (was ? `The semaphore ${f.name(s.name)} is deleted.` : 'Nobody had made it by sem.create: it goes when nobody needs it.'), then }),
            },
        ],
    });
    const list = lister({ method: 'sem.list', table, ask: async () => (await call('sem.list')).sort((a, b) => (f.name(a.name) < f.name(b.name) ? -1 : 1)) });
    return {
        element: h('div', {}, heading('Semaphores', what && h('code', {}, tenant === null ? what : `${what} (${tenant})`)), detail?.element, list.said, onlyCard('Semaphores', table.element)),
        title: 'Semaphores', table, refresh: then, back: what ? () => go(link('semaphores')) : undefined, close: () => { list.stop(); detail?.stop(); },
    };
}
