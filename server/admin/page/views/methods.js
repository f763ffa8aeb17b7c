// Methods: how often each is called, its queue time, run time and processor time; of one, as pictures.

import { makeChart } from '../chart.js';
import { fill, h, setText } from '../dom.js';
import * as f from '../format.js';
import { live } from '../live.js';
import { heading, onlyCard } from '../parts.js';
import { sentence, whyNot } from '../rights.js';
import { go, link } from '../router.js';
import { makeTable } from '../table.js';
import { SHARES } from '../latency.js';

const LINES = [{ label: 'p50', colour: '--c1' }, { label: 'p95', colour: '--c4' }, { label: 'p99', colour: '--c3' }];

/** Pictures of how long tasks of the method (null: of all) waited and ran. */
export function latencyCharts(name) {
    const of = name === null ? 'all methods' : f.name(name);
    const charts = [['run', `Run time, ${of}`], ['wait', `Queue time, ${of}`]].map(([kind, title]) => ({ kind, chart: makeChart({ title, unit: 'ms', log: true, lines: LINES }) }));
    return {
        elements: charts.map((c) => c.chart.element),
        update() {
            for (const { kind, chart } of charts) {
                const { times, lines } = live.latency.series(name, kind);
                if (times.length) chart.show(times, lines);
            }
        },
        close: () => charts.forEach((c) => c.chart.close()),
    };
}

const since = (handler, kind) => (handler?.[kind] ? `since the start: ${SHARES.map(([p]) => `${p} ${f.duration(handler[kind][p] / 1000)}`).join(', ')}` : '');

export function view({ what }) {
    const beside = h('span', { class: 'muted' }, 'the last minute'), said = h('p', { class: 'said', hidden: true, role: 'alert' });
    const field = h('input', { type: 'search', 'aria-label': 'Methods that contain', autocomplete: 'off', spellcheck: 'false', oninput: () => update(live.last ?? {}) });
    const charts = latencyCharts(what || null);
    const TITLES = { run: 'run', wait: 'queue' };
    const time = (kind, share, more = '') => ({ title: `${TITLES[kind]} ${share}`, kind: `number ${more}`, text: (m) => f.duration(m[kind][share]), hint: (m) => since(m.handler, `${kind}_us`) });
    const table = makeTable({
        label: 'Methods', key: (m) => m.name, open: (m) => go(link('methods', m.name)), shade: (m) => (m.name === what ? 'chosen' : ''),
        empty: 'No method has run yet.',
        columns: [
            { title: 'method', kind: 'id', draw: (m) => h('a', { href: link('methods', m.name) }, f.name(m.name)), changes: (m) => m.name },
            { title: 'done/s', kind: 'number', text: (m) => f.rate(m.rate), hint: (m) => f.exact(m.rate) },
            { title: 'failed/s', kind: 'number', text: (m) => f.rate(m.failures), hint: (m) => f.exact(m.failures) },
            { title: 'running', kind: 'number', text: (m) => f.count(m.handler?.running), hint: (m) => (m.handler ? `${m.handler.parked} parked` : '') },
            time('run', 'p50'), time('run', 'p95'), time('run', 'p99'), time('wait', 'p50', 'late'), time('wait', 'p95', 'late'), time('wait', 'p99'),
            { title: 'processor', kind: 'number late', text: (m) => f.duration(m.handler?.cpu_ms).replace(/\.\d+/, ''), hint: () => 'processor time of its handlers in the server since the start' },
            { title: '', kind: 'actions late', draw: (m) => h('a', { href: link('tasks', null, { method: m.name }) }, 'tasks'), changes: (m) => m.name },
        ],
    });

    function update({ info }) {
        const handlers = new Map((info?.handlers ?? []).map((one) => [one.name, one])), wanted = field.value.trim().toLowerCase();
        const barred = whyNot('server.times'), error = barred === null ? live.latencyError : { code: 'DENIED', message: barred };
        said.hidden = !error;
        if (error) setText(said, sentence(error));
        const rows = live.latency.lately().map((m) => ({ ...m, handler: handlers.get(m.name) })).sort((a, b) => (a.name < b.name ? -1 : 1));
        table.rows(rows.filter((m) => f.name(m.name).toLowerCase().includes(wanted)));
        setText(beside, live.latencyMore ? `the last minute; ${f.plural(live.latencyMore, 'method')} that ran less are left out` : 'the last minute');
        charts.update();
    }

    const title = h('div', {});
    fill(title, what ? [h('a', { href: link('methods') }, 'all methods'), ' / ', h('code', {}, what)] : '');
    return {
        element: h('div', {}, heading('Methods', [what ? title : null, beside], h('label', { class: 'field' }, h('span', {}, 'method'), field)), said, h('div', { class: 'charts' }, charts.elements), onlyCard('Methods', table.element)),
        title: what ? `Method ${what}` : 'Methods', table, update, search: () => field.focus(), back: what ? () => go(link('methods')) : undefined, close: charts.close,
    };
}
