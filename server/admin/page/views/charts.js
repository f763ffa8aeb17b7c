// Rates and times as pictures, over the last ten minutes.

import { makeChart } from '../chart.js';
import { h } from '../dom.js';
import { live } from '../live.js';
import { heading } from '../parts.js';
import { latencyCharts } from './methods.js';

const TOP = 5; // of handlers and executors, those that have most

const PICTURES = [
    { title: 'Plain calls a second', unit: 'rate', lines: [['done', 'done'], ['failed', 'failed', '--c3'], ['refused', 'refused', '--c4']] },
    { title: 'Submitted tasks a second', unit: 'rate', lines: [['done', 'kept_done', '--c2'], ['submitted', 'submitted', '--c1'], ['failed', 'kept_failed', '--c3'], ['retries', 'retries', '--c4']] },
    { title: 'Tasks that wait or run', unit: 'count', lines: [['queued', 'queued', '--c4'], ['running', 'running', '--c2'], ['waiting or delayed', 'waiting', '--c5'], ['calls queued', 'calls_queued', '--c1']] },
    { title: 'Mean time of a handler', unit: 'ms', of: () => byName(live.samples.handlers, live.last?.info?.handlers, (one) => one.busy_ms) },
    { title: 'Age of the oldest in a queue', unit: 's', lines: [['oldest queued', 'oldest_s', '--c4']] },
    { title: 'Busy executors', unit: '%', of: () => byName(live.samples.executors, live.last?.topology?.executors, (one) => one.busy_ms) },
    { title: 'Last commit of the store', unit: 'ms', lines: [['commit', 'commit_ms', '--c6']] },
    { title: 'Commits a second', unit: 'rate', lines: [['commits', 'commits', '--c6']] },
    { title: 'Connections', unit: 'count', lines: [['open', 'connections', '--c5']] },
    { title: 'Messages a second', unit: 'rate', lines: [['messages', 'messages', '--c5']] },
    { title: 'Bytes a second', unit: 'bytes/s', lines: [['in', 'bytes_in', '--c1'], ['out', 'bytes_out', '--c2']] },
    { title: 'Memory', unit: 'bytes', lines: [['calls and connections', 'memory', '--c6'], ['tasks', 'kept_bytes', '--c5']] },
];

// Those with most now, in an order that stays.
function byName(series, list, measure) {
    const names = [...(list ?? [])].sort((a, b) => measure(b) - measure(a)).slice(0, TOP).map((one) => one.name).filter((name) => series.has(name)).sort();
    return [names.map((name) => series.get(name)), names];
}

export function view() {
    const charts = PICTURES.map((p) => ({ ...p, chart: makeChart({ title: p.title, unit: p.unit, lines: p.lines?.map(([label, , colour]) => ({ label, colour })) }) }));
    const latency = latencyCharts(null);
    const elements = charts.map((c) => c.chart.element);
    elements.splice(3, 0, ...latency.elements);
    const element = h('div', {}, heading('Charts', h('span', { class: 'muted' }, 'the last ten minutes; percentiles since this page was opened')), h('div', { class: 'charts many' }, elements));

    function update() {
        latency.update();
        const { times, values } = live.samples;
        for (const { chart, lines, of } of charts) {
            if (lines) {
                chart.show(times, lines.map(([, name]) => values[name]));
            } else {
                const [series, names] = of();
                if (names.length) chart.show(times, series, names);
            }
        }
    }
    return { element, title: 'Charts', update, close: () => { latency.close(); charts.forEach((c) => c.chart.close()); } };
}
