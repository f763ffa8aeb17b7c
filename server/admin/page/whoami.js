// Who one is and what one may do, as a dialog.

import { dialog } from './ask.js';
import { h } from './dom.js';
import * as f from './format.js';
import { facts } from './parts.js';
import { whoami } from './rights.js';

const names = (list) => list.map((name) => [h('code', {}, f.name(name)), ' ']);

// Of what a grant may be used on, where something is said of it.
const within = (grant) => [['tenants', 'tasks of its own tenant, and of', grant.tenants], ['queues', 'queues', grant.queues], ['keys', 'keys', grant.keys]]
    .filter(([, , list]) => Array.isArray(list)).map(([, what, list]) => h('div', {}, h('span', { class: 'muted' }, `${what}: `), names(list)));

function grants(me) {
    if (me.unconfigured) return h('p', {}, 'It may do everything: nobody has said on this server who may what.');
    if (!me.grants.length) return h('p', {}, 'It may call nothing that needs a right.');
    return h('ul', { class: 'grants' }, me.grants.map((grant) => h('li', {}, h('div', {}, names(grant.methods ?? [])), within(grant))));
}

export function showWhoami() {
    const me = whoami();
    if (!me) return dialog('Your rights', h('p', {}, 'The server does not tell them.'));
    return dialog('Your rights',
        facts([
            ['principal', h('b', {}, f.name(me.principal))], ['tenant', f.name(me.tenant)], me.expires && ['its token ends', f.ago(me.expires), f.moment(me.expires)],
            ['a message', `up to ${f.bytes(me.limits?.message)}`, f.exact(me.limits?.message, 'bytes')], ['calls in flight', `up to ${f.count(me.limits?.in_flight)} a connection`],
            ['it may hold', `up to ${f.bytes(me.limits?.principal_bytes)}`, f.exact(me.limits?.principal_bytes, 'bytes')],
        ]),
        h('h3', {}, 'Granted'), grants(me),
        me.others && !me.unconfigured && h('p', { class: 'muted' }, 'The tasks and crons of all tenants are its own to see and steer (task.any).'),
        Array.isArray(me.allow) && [h('h3', {}, 'But by the listener of this page only'), h('p', {}, names(me.allow))]);
}
