// Connections, a page at a time, and what each does.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { h } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { makePager } from '../pager.js';
import { badge, heading, onlyCard } from '../parts.js';
import { link, note } from '../router.js';
import { makeTable } from '../table.js';

const PAGE = 100;

// A principal has a colon and letters in front; everything else is an address.
function conditions(text) {
    const word = text.trim();
    if (!word) return {};
    if (/^\d+$/.test(word)) return { id: Number(word) };
    return /^(token|cert|address|unix):/.test(word) && !/^unix:\d+$/.test(word) ? { principal: word } : { address: word };
}

export function view({ parameters }) {
    let away = 0; // loops that did not answer
    const field = h('input', { type: 'search', 'aria-label': 'Principal, address or number of a connection', autocomplete: 'off', spellcheck: 'false', value: parameters.get('id') ?? parameters.get('search') ?? '' });
    const then = () => list.now();
    const table = makeTable({
        label: 'Connections', key: (c) => c.id, empty: 'No connection matches.', shade: (c) => (c.stopped ? 'held' : ''),
        columns: [
            { title: 'id', kind: 'number', text: (c) => String(c.id) },
            { title: 'peer', kind: 'id', text: (c) => f.name(c.peer), hint: (c) => `came by ${f.name(c.listener)}` },
            { title: 'principal', kind: 'id', text: (c) => f.name(c.principal) },
            { title: 'state', kind: 'state', draw: (c) => [badge(c.state.toLowerCase(), c.state === 'OPEN' ? 'good' : 'warn'), c.stopped && badge('not read', 'warn'), c.workers > 0 && badge(f.plural(c.workers, 'worker'), 'plain')], changes: (c) => [c.state, c.stopped, c.workers] },
            { title: 'TLS', kind: 'late', text: (c) => c.tls ?? '–' },
            { title: 'age', kind: 'number', text: (c) => f.duration(c.age_ms).replace(/\.\d+/, '') },
            { title: 'idle', kind: 'number late', text: (c) => f.duration(c.idle_ms).replace(/\.\d+/, '') },
            { title: 'in flight', kind: 'number', text: (c) => f.count(c.in_flight + c.polls), hint: (c) => `${c.in_flight} calls, ${c.polls} long polls and watches` },
            { title: 'calls', kind: 'id clip', text: (c) => c.calls.map((k) => `${f.name(k.method)} ${f.duration(k.age_ms).replace(/\.\d+/, '')}`).join(', ') },
            { title: 'messages', kind: 'number late', text: (c) => f.count(c.messages), hint: (c) => f.exact(c.messages) },
            { title: 'holds', kind: 'number', text: (c) => f.bytes(c.bytes), hint: (c) => `${f.exact(c.bytes, 'bytes')}; all of its principal ${f.bytes(c.principal_bytes)}; ${f.bytes(c.output_bytes)} wait to be read` },
            {
                title: '', kind: 'actions', changes: (c) => c.id,
                draw: (c) => actionButton({ label: 'Kill', method: 'connection.kill', danger: true, params: [c.id], does: `Close the connection ${c.id} of ${f.name(c.peer)}`, detail: 'What it has in flight is dropped. Tasks that were submitted live on.', said: (r) => `${f.plural(r.killed, 'connection')} closed.`, then }),
            },
        ],
    });
    const pages = makePager({
        one: 'connection', words: ['Before', 'Next'], size: PAGE, then,
        ask: async (limit, cursor) => {
            const page = await call('connection.list', [{ ...conditions(field.value), limit, ...cursor }]);
            away = page.away;
            return { rows: page.connections, next: page.next };
        },
    });
    const list = lister({ method: 'connection.list', table, ask: () => pages.page(), shown: (rows) => pages.shown(rows, away ? `; ${f.plural(away, 'loop')} passed over, since stuck` : '') });
    function search(event) {
        event.preventDefault();
        note(link('connections', null, { search: field.value.trim() }));
        pages.first();
    }
    return {
        element: h('div', {}, heading('Connections', null),
            h('form', { class: 'search', role: 'search', onsubmit: search }, field, h('button', { type: 'submit' }, 'Search')),
            h('p', { class: 'muted help-line' }, 'a principal (token:alice), an address, or the number of a connection'),
            list.said, onlyCard('Connections', table.element), pages.element),
        title: 'Connections', table, search: () => field.focus(), refresh: list.now, previous: () => pages.turn(-1), next: () => pages.turn(1), close: list.stop,
    };
}
