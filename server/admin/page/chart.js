// A chart of series over the last minutes, by uPlot.  It takes its colours from the style sheet, and its width from its box.

import { h } from './dom.js';
import * as f from './format.js';
import { onTheme } from './theme.js';

export const UNITS = {
    rate: (v) => f.rate(v), count: (v) => f.count(v), bytes: (v) => f.bytes(v), 'bytes/s': (v) => `${f.bytes(v)}/s`, ms: (v) => f.duration(v), s: (v) => f.duration(v * 1000), '%': (v) => `${Math.round(v)} %`,
};
// Where ticks may stand: where their labels differ, as the units round.
const POWERS = Array.from({ length: 50 }, (_, i) => 2 ** i);
const TENS = Array.from({ length: 15 }, (_, e) => [1, 2, 5].map((n) => n * 10 ** e)).flat();
export const STEPS = { bytes: POWERS, 'bytes/s': POWERS, count: TENS, '%': TENS, rate: [.1, .2, .5, ...TENS], s: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800] };
const COLOURS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6'];
const LEAST_TOP = { count: 4, '%': 4, s: 4, rate: .5 }; // some of the least steps
const LEAST = 60; // seconds that the axis shows

const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const height = () => Math.round(12 * rem());
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** `lines`: [{label, colour}], `unit` one of UNITS; `log`: by powers of ten, for what differs by as much.  `show(times, series)` draws; `close()` lets go. */
export function makeChart({ title, lines, unit = 'count', log = false }) {
    const box = h('div', { class: 'plot' });
    const element = h('figure', { class: 'chart card', 'aria-label': title }, h('figcaption', {}, title), box);
    const say = UNITS[unit];
    let plot = null, data = null, shape = '';

    function options(names) {
        const ink = css('--muted'), line = css('--line'), font = `${Math.round(.8 * rem())}px system-ui, sans-serif`;
        const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { show: false } };
        return {
            width: Math.max(160, box.clientWidth),
            height: height(),
            cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false }, sync: { key: 'ergon' } },
            legend: { live: true },
            scales: { x: { time: false, range: (_, first) => [Math.min(first, -LEAST), 0] }, y: log ? { distr: 3, log: 10, range: decades } : { range: (_, low, high) => [0, Math.max(high * 1.1, LEAST_TOP[unit] ?? (high > 0 ? 0 : 1))] } },
            axes: [
                { ...axis, size: 2 * rem(), incrs: [5, 10, 15, 30, 60, 120, 300], values: (_, ticks) => ticks.map(age) },
                { ...axis, size: 4.8 * rem(), ...(log ? { splits: powers, filter: (_, ticks) => ticks } : STEPS[unit] ? { incrs: STEPS[unit] } : {}), values: (_, ticks) => ticks.map((t) => (t === null ? '' : say(t))) },
            ],
            series: [
                { label: 'when', value: (_, v) => (v === null || v === undefined ? '' : age(v)) },
                ...names.map((name, i) => {
                    const colour = css(lines?.[i]?.colour ?? COLOURS[i % COLOURS.length]);
                    return { label: name, stroke: colour, fill: i === 0 && !log ? `${colour}22` : undefined, width: 1.5, points: log ? { show: true, size: 4, fill: colour, width: 0 } : { show: false }, value: (_, v) => (v === null || v === undefined ? '–' : say(v)) };
                }),
            ],
        };
    }

    // Whole powers of ten around what there is.
    const decades = (_, low, high) => (low > 0 && high > 0 ? [10 ** Math.floor(Math.log10(low)), 10 ** Math.max(Math.ceil(Math.log10(high)), Math.floor(Math.log10(low)) + 1)] : [.001, 1]);

    // Where ticks are: at powers of ten, and between them where there are few.
    function powers(_, axis, low, high) {
        const ticks = [], first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
        for (let e = first; e <= last; e++) ticks.push(...(last - first > 1 || e === last ? [1] : [1, 2, 5]).map((n) => n * 10 ** e));
        return ticks;
    }

    const age = (t) => {
        const seconds = Math.round(-t);
        return seconds <= 0 ? 'now' : seconds % 60 === 0 ? `-${seconds / 60} min` : `-${seconds} s`;
    };

    function drawAnew() {
        plot?.destroy();
        plot = null;
        shape = '';
        if (data) show(...data);
    }

    /** `names` are the labels, if they are not those of `lines`. */
    function show(times, series, names = lines.map((l) => l.label)) {
        data = [times, series, names];
        if (!box.isConnected || box.clientWidth === 0) return;
        const now = names.join('\n'), last = times.at(-1), ages = times.map((t) => t - last);
        if (!plot || shape !== now) {
            plot?.destroy();
            shape = now;
            plot = new window.uPlot(options(names), [ages, ...series], box);
        } else {
            plot.setData([ages, ...series]);
        }
        // Without a pointer in it the legend tells the last figures.
        if (plot.cursor.idx === null || plot.cursor.idx === undefined || plot.cursor.left < 0) plot.setLegend({ idx: times.length - 1 }, false);
    }

    const sized = new ResizeObserver(() => {
        if (plot) plot.setSize({ width: Math.max(160, box.clientWidth), height: height() });
        else drawAnew();
    });
    sized.observe(box);
    const letTheme = onTheme(drawAnew);

    function close() {
        sized.disconnect();
        letTheme();
        plot?.destroy();
        plot = null;
    }
    return { element, show, close };
}

/** A line without axes, for a tile.  Drawn by hand on a canvas: a dozen points need no library. */
export function makeSpark() {
    const canvas = h('canvas', { class: 'spark', 'aria-hidden': 'true' });
    function show(series, colour = '--c1') {
        const width = canvas.clientWidth, height = canvas.clientHeight, dots = devicePixelRatio || 1;
        if (!width || !height) return;
        canvas.width = width * dots;
        canvas.height = height * dots;
        const points = series.slice(-90), g = canvas.getContext('2d');
        const most = Math.max(1e-9, ...points.map((p) => p ?? 0));
        g.scale(dots, dots);
        g.beginPath();
        let up = false;
        points.forEach((p, i) => {
            if (p === null) { up = false; return; }
            const x = width - (points.length - 1 - i) * (width / 89), y = height - 2 - (p / most) * (height - 4);
            if (up) g.lineTo(x, y); else g.moveTo(x, y);
            up = true;
        });
        g.strokeStyle = css(colour);
        g.lineWidth = 1.5;
        g.lineJoin = 'round';
        g.stroke();
    }
    return { element: canvas, show };
}
