// One queue: whether it is served and by what, its figures, its latest tasks, its workers, and what can be done about it.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { fillNew, h, setText, setTitle } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { live } from '../live.js';
import { badge, card, heading } from '../parts.js';
import { poll } from '../poll.js';
import { learn, may, sentence } from '../rights.js';
import { link } from '../router.js';
import { latencyCharts } from './methods.js';
import { tasksTable } from './tasks.js';
import { workersTable } from './workers.js';

const LATEST = 20, MOST_WORKERS = 200;
const EXECUTORS = 32; // that are named

/** Its state, as badges. */
export const stateOf = (q) => [q.paused && badge('paused', 'warn'), q.draining && badge('draining', 'warn'), !q.paused && !q.draining && badge('open', 'good')];

/** The buttons that stop a queue, or have it go on. */
export function queueActions(q, then) {
    const name = f.name(q.method);
    return [
        q.paused || q.draining
            ? actionButton({ label: 'Resume', method: 'queue.resume', params: [q.method], said: () => `The queue ${name} is open again.`, then })
            : actionButton({ label: 'Pause', method: 'queue.pause', params: [q.method], title: 'starts no more tasks; takes new ones', said: () => `The queue ${name} is paused.`, then }),
        !q.draining && actionButton({
            label: 'Drain', method: 'queue.drain', params: [q.method], title: 'takes no new tasks; runs those that are there',
            does: `Drain the queue ${name}`, keep: 'Keep it open', detail: 'Submissions will be refused until it is resumed.', said: () => `The queue ${name} drains.`, then,
        }),
    ];
}

// How fast a counter of the queue grew between the last two events.
function speed(method, counter) {
    const of = (data) => data?.queues?.find((q) => q.method === method)?.[counter];
    const seconds = ((live.last?.info?.time ?? 0) - (live.before?.info?.time ?? 0)) / 1000, by = of(live.last) - of(live.before);
    return seconds > 0 && by >= 0 ? by / seconds : null;
}

const since = (counter) => ({ value: (q) => `${f.rate(speed(q.method, counter))}/s`, below: (q) => `${f.count(q[counter])} since the start`, hint: (q) => `${f.exact(q[counter])} since the server’s start` });
const now = (state) => ({ value: (q) => f.count(q[state]), below: () => '', hint: (q) => f.exact(q[state]) });
// By title; `state`: of the tasks to which it leads.
const TILES = {
    queued: { state: 'queued', ...now('queued') }, waiting: { state: 'waiting', ...now('waiting') }, delayed: { state: 'delayed', ...now('delayed') },
    running: { state: 'running', value: (q) => f.count(q.running + q.parked + q.assigned), below: (q) => (q.parked || q.assigned ? `${f.count(q.parked)} parked, ${f.count(q.assigned)} assigned` : ''), hint: () => '' },
    'oldest open': { value: (q) => (q.oldest ? f.duration(Math.max(0, f.now() - q.oldest)).replace(/\.\d+/, '') : '–'), below: () => '', hint: (q) => f.moment(q.oldest) },
    submitted: since('submitted'), done: { state: 'done', ...since('done') }, failed: { state: 'failed', ...since('failed') },
};

function makeTiles(method) {
    const all = Object.entries(TILES).map(([title, { state, value, below, hint }]) => {
        const parts = { value: h('strong', {}), below: h('span', { class: 'muted' }) };
        const tile = h('a', { class: 'tile', href: link('tasks', null, { method, state }) }, h('span', { class: 'tile-title' }, title), parts.value, parts.below);
        return { tile, draw: (q) => { setText(parts.value, value(q)); setText(parts.below, below(q)); setTitle(tile, hint(q)); } };
    });
    return { element: h('div', { class: 'tiles' }, all.map(({ tile }) => tile)), draw: (q) => all.forEach(({ draw }) => draw(q)) };
}

const executors = (q) => q.executors.length > 0 && h('div', {}, h('span', { class: 'muted' }, 'executors: '),
    q.executors.slice(0, EXECUTORS).map((e) => h('span', { class: 'chip small', title: 'tasks that it has, of at most' }, `${f.name(e.name)} ${e.outstanding}/${e.bound}`)),
    q.executors.length > EXECUTORS && h('span', { class: 'muted' }, `and ${q.executors.length - EXECUTORS} more`));

/** `name`: the method. */
export function queueView(name) {
    const parts = { state: h('span', {}), acts: h('span', { class: 'buttons' }), why: h('p', { class: 'why' }), executors: h('div', { class: 'others' }) };
    const tiles = makeTiles(name);
    const said = h('p', { class: 'said', hidden: true, role: 'alert' });
    const charts = latencyCharts(name), tasks = tasksTable({ label: 'Latest tasks', without: ['method'], empty: 'No task of this method is kept.' }), workers = workersTable(() => byWorker.now(), { empty: 'No worker offers this method.' });
    const latest = lister({ method: 'task.list', table: tasks, ask: async () => (await call('task.list', [{ method: name, limit: LATEST }])).tasks });
    const byWorker = lister({ method: 'worker.list', table: workers, ask: async () => (await call('worker.list', [{ method: name, limit: MOST_WORKERS }])).workers });
    let shown = null; // as queue.explain answered last
    const rest = h('div', { class: 'stack one', hidden: true }, card('Status', parts.why, parts.executors), tiles.element,
        may('server.times') && h('div', { class: 'charts' }, charts.elements),
        card(['Latest tasks', h('a', { href: link('tasks', null, { method: name }) }, 'all tasks of this method')], latest.said, tasks.element), card('Workers', byWorker.said, workers.element));

    function draw() {
        if (!shown) return;
        fillNew(parts.state, [shown.paused, shown.draining, shown.kind, shown.secret], () => [stateOf(shown), shown.secret && badge('parameters secret'), shown.kind && h('span', { class: 'muted' }, ` ${shown.kind}`)]);
        fillNew(parts.acts, [shown.paused, shown.draining], () => queueActions(shown, then));
        setText(parts.why, `${f.name(shown.text).replace(/^./, (c) => c.toUpperCase())}.`);
        fillNew(parts.executors, shown.executors, () => executors(shown));
        tiles.draw(shown);
        charts.update();
    }

    const then = () => polling.now();
    const polling = poll(async () => {
        try {
            shown = await call('queue.explain', [name]);
            rest.hidden = false;
            said.hidden = true;
            draw();
        } catch (error) {
            learn('queue.explain', error);
            if (error.code === 'GONE') return;
            rest.hidden = error.code === 'NO_METHOD' || error.code === 'NOT_FOUND';
            setText(said, rest.hidden ? `There is no queue ${name}: no task of it is kept, and nobody offers the method.` : sentence(error));
            said.hidden = false;
        }
    }, 1000);

    return {
        element: h('div', {}, heading('Queue', [h('b', { class: 'queue-name' }, name), parts.state, h('a', { href: link('queues') }, 'all queues')], parts.acts), said, rest),
        title: `Queue ${name}`, table: tasks, update: draw, back: () => history.back(), refresh: () => { polling.now(); latest.now(); byWorker.now(); },
        close: () => { polling.stop(); latest.stop(); byWorker.stop(); charts.close(); },
    };
}
