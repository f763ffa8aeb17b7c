// The first view: how it goes, what needs somebody, and the threads.

import { makeChart, makeSpark } from '../chart.js';
import { fillNew, h, setText, setTitle } from '../dom.js';
import * as f from '../format.js';
import { live } from '../live.js';
import { badge, bar, card, heading } from '../parts.js';
import { link } from '../router.js';
import { makeTable } from '../table.js';

const STUCK = { away: 'its loop does not finish its round', outlived: 'its handler runs though nobody wants the result', 'stands in': 'stands in for one that is stuck', rests: 'rests: it stood in, and is not needed now' };

// A tile: a figure, what it means, its last minutes.
function makeTile(title, to, colour) {
    const figure = h('strong', {}, '–'), beside = h('span', { class: 'muted' }), spark = makeSpark();
    const element = h('a', { class: 'tile', href: to }, h('span', { class: 'tile-title' }, title), figure, beside, spark.element);
    return {
        element,
        show(text, exact, note, series) {
            setText(figure, text);
            setTitle(figure, exact);
            setText(beside, note);
            spark.show(series, colour);
        },
    };
}

const QUEUES = 6; // sentences about queues that somebody holds; of the others there is one
const DAY = 86400000;

// Of the store, as `ergon doctor` has it: what was on its way a second ago, and nothing has come back since, hangs.
function ofStore(store, before, say) {
    const to = link('charts'), room = Math.max(256 * 2 ** 20, (store.bytes ?? 0) / 4);
    if (store.error) say('bad', `The store cannot write: ${store.error}`, to);
    else if (store.backlog > 0 && before?.backlog > 0 && before.commits === store.commits) say('bad', `The store hangs: ${f.plural(store.backlog, 'write waits', 'writes wait')} for a commit.`, to);
    else if (store.commit_us >= 500000) say('warn', `The last commit of the store took ${f.duration(store.commit_us / 1000)}: durable submissions wait for that.`, to);
    if (typeof store.free_bytes === 'number' && store.free_bytes < room) say('bad', `The file system of the store has ${f.bytes(store.free_bytes)} left.`, to);
}

// What comes to its end, and what went wrong before anybody looked.
function ofSetup(info, say) {
    const { setup } = info, to = link('overview');
    for (const [at, days, what] of [[setup?.certificate_ends, 14, 'A certificate of a listener'], [setup?.crl_ends, 3, 'A list of revoked certificates'], [setup?.token_ends, 14, 'A token']])
        if (at && at - info.time < days * DAY) say(at > info.time ? 'warn' : 'bad', `${what} ${at > info.time ? 'ends' : 'ended'} ${f.ago(at)}.`, to);
    if (setup?.reload_refused) say('warn', `The last reload, ${f.ago(setup.reload_refused)}, was refused: the server goes on with what it had. Its log says why.`, to);
    if (setup?.crashed && info.time - setup.crashed < 7 * DAY) say('warn', `The server crashed ${f.ago(setup.crashed)}.`, to);
}

// A method that workers offered keeps its kind when they have gone; which of them offer it now the figures do not say.
function ofQueues(queues, info, say) {
    const nobody = (q) => !q.kind || (q.kind === 'worker' && info?.workers.registered === 0);
    const held = queues.filter((q) => q.paused || q.draining), tasks = (q) => link('tasks', null, { method: q.method });
    for (const q of queues)
        if (nobody(q) && q.queued + q.waiting > 0) say('bad', `${f.plural(q.queued + q.waiting, 'task')} of ${f.name(q.method)} ${q.queued + q.waiting === 1 ? 'waits' : 'wait'}, and neither an executor nor a worker runs them.`, tasks(q));
    for (const q of held.slice(0, QUEUES)) {
        const waits = q.queued + q.waiting + q.delayed;
        if (q.paused) say('warn', `The queue ${f.name(q.method)} is paused; ${f.plural(waits, 'task waits', 'tasks wait')}.`, link('queues'));
        if (q.draining) say('warn', `The queue ${f.name(q.method)} is draining: it takes no new tasks.`, link('queues'));
    }
    if (held.length > QUEUES) say('warn', `${f.plural(held.length - QUEUES, 'more queue is', 'more queues are')} paused or draining.`, link('queues'));
}

// Sentences about what is wrong, each with where to look; what is bad first.
function needs({ info, topology, queues }, before) {
    const found = [];
    const say = (tone, text, to) => found.push({ tone, text, to });
    if (info?.draining) say('warn', 'The server is draining: it takes no new work and will stop.', link('connections'));
    if (info?.store) ofStore(info.store, before?.info?.store, say);
    for (const e of topology?.executors ?? [])
        if (e.state === 'away' || e.state === 'outlived') say('bad', `${e.name} is stuck${e.running ? ` in ${f.name(e.running)}` : ''}: ${STUCK[e.state]}.`, link('overview'));
    if (info?.tasks.refused > before?.info?.tasks.refused) say('warn', `${f.plural(info.tasks.refused - before.info.tasks.refused, 'call was', 'calls were')} answered BUSY in the last second.`, link('charts'));
    ofQueues(queues ?? [], info, say);
    if (info?.no_executor) say('warn', `${f.plural(info.no_executor, 'method has', 'methods have')} no executor that runs them.`, link('queues'));
    const dead = info?.kept?.states?.dead;
    if (dead) say('warn', `${f.plural(dead, 'task is', 'tasks are')} dead: all retries are used up, or the server crashed too often while they ran.`, link('tasks', null, { state: 'dead' }));
    if (info && f.percent(info.memory.bytes, info.memory.limit) > 80) say('bad', 'Calls and connections hold more than 80 % of their memory.', link('connections'));
    if (info && f.percent(info.connections.open, info.connections.limit) > 80) say('warn', 'More than 80 % of the connections that there may be are open.', link('connections'));
    if (info && f.percent(info.kept.held, info.kept.limit) > 80) say('bad', 'More than 80 % of the tasks that can be kept are kept.', link('tasks'));
    if (info && f.percent(info.kept.bytes, info.kept.bytes_limit) > 80) say('bad', 'Tasks take more than 80 % of their memory.', link('tasks'));
    if (info) ofSetup(info, say);
    return found.sort((a, b) => (a.tone === 'bad' ? 0 : 1) - (b.tone === 'bad' ? 0 : 1));
}

export function view() {
    const tiles = {
        done: makeTile('Calls done', link('charts'), '--c1'),
        failed: makeTile('Calls failed', link('charts'), '--c3'),
        tasks: makeTile('Tasks done', link('tasks'), '--c2'),
        queued: makeTile('Tasks that wait', link('queues'), '--c4'),
        running: makeTile('Tasks that run', link('tasks', null, { state: 'running' }), '--c1'),
        connections: makeTile('Connections', link('connections'), '--c5'),
        memory: makeTile('Memory of calls', link('connections'), '--c6'),
        kept: makeTile('Tasks kept', link('tasks'), '--c6'),
    };
    const attention = h('ul', { class: 'needs' }), calm = h('p', { class: 'calm' });
    const calls = makeChart({ title: 'Plain calls a second', unit: 'rate', lines: [{ label: 'done' }, { label: 'failed', colour: '--c3' }, { label: 'refused', colour: '--c4' }] });
    const tasks = makeChart({ title: 'Tasks', unit: 'count', lines: [{ label: 'queued', colour: '--c4' }, { label: 'running', colour: '--c2' }, { label: 'waiting or delayed', colour: '--c5' }] });
    const loops = makeTable({
        label: 'Loops', key: (l) => l.name,
        columns: [
            { title: 'loop', text: (l) => l.name },
            { title: 'connections', kind: 'number', text: (l) => f.count(l.connections), hint: (l) => f.exact(l.connections) },
            { title: 'workers', kind: 'number', text: (l) => f.count(l.workers) },
            { title: 'active', kind: 'number', text: (l) => f.count(l.active), hint: () => 'objects that the next round steps' },
            { title: 'asleep', kind: 'number late', text: (l) => f.count(l.sleeping) },
            { title: 'rounds', kind: 'number late', text: (l) => f.count(l.rounds), hint: (l) => f.exact(l.rounds) },
            { title: 'long steps', kind: 'number', text: (l) => f.count(l.long_steps), hint: (l) => `${f.exact(l.long_steps)} steps that took long` },
        ],
    });
    const executors = makeTable({
        label: 'Executors', key: (e) => e.name, shade: (e) => (e.state === 'away' || e.state === 'outlived' ? 'stuck' : ''),
        columns: [
            { title: 'executor', text: (e) => e.name },
            { title: 'state', kind: 'state', draw: (e) => badge(e.state, e.state === 'ready' ? 'good' : e.state in { away: 1, outlived: 1 } ? 'bad' : 'dim'), changes: (e) => e.state, hint: (e) => STUCK[e.state] ?? 'ready' },
            { title: 'runs', kind: 'id', text: (e) => (e.running === null ? '' : f.name(e.running)) },
            { title: 'has', draw: (e) => [bar(e.outstanding, e.bound, `${e.outstanding} of at most ${e.bound} tasks`), ` ${e.outstanding}/${e.bound}`], changes: (e) => [e.outstanding, e.bound] },
            { title: 'parked', kind: 'number', text: (e) => f.count(e.parked) },
            { title: 'busy', kind: 'number', text: (e) => { const b = live.samples.executors.get(e.name)?.at(-1); return b === null || b === undefined ? '–' : `${Math.round(b)} %`; }, hint: () => 'of the last second' },
            { title: 'done', kind: 'number', text: (e) => f.count(e.done), hint: (e) => f.exact(e.done) },
            { title: 'failed', kind: 'number late', text: (e) => f.count(e.failed), hint: (e) => f.exact(e.failed) },
        ],
    });
    const about = h('span', { class: 'muted' }), said = h('p', { class: 'said alone', hidden: true });
    const element = h('div', {}, heading('Overview', about), said,
        h('div', { class: 'tiles' }, Object.values(tiles).map((t) => t.element)),
        card('Needs attention', attention, calm),
        h('div', { class: 'charts' }, calls.element, tasks.element),
        h('div', { class: 'pair' }, card('Executors', executors.element), card('Loops', loops.element)));

    function update(data) {
        const { info, topology } = data, s = live.samples, v = s.values;
        said.hidden = Boolean(info);
        if (!info) {
            setText(said, 'You are not allowed to see the figures of the server (server.info).');
            return;
        }
        setText(about, `ergond ${info.version}, process ${info.pid}, up ${f.duration(info.uptime_ms)}`);
        const per = (name) => `${f.rate(s.last(name))}/s`, st = info.kept.states;
        tiles.done.show(per('done'), f.exact(s.last('done'), 'a second'), `${f.count(info.tasks.done)} in all`, v.done);
        tiles.failed.show(per('failed'), f.exact(s.last('failed'), 'a second'), `${per('refused')} refused`, v.failed);
        tiles.tasks.show(per('kept_done'), f.exact(s.last('kept_done'), 'a second'), `${per('kept_failed')} failed`, v.kept_done);
        tiles.queued.show(f.count(st.queued + st.waiting + st.delayed), f.exact(st.queued + st.waiting + st.delayed), `${f.count(st.queued)} queued, ${f.count(st.delayed)} delayed`, v.all_waiting);
        tiles.running.show(f.count(st.running + st.parked + st.assigned), f.exact(st.running + st.parked + st.assigned), `${f.count(info.workers.out)} at workers`, v.running);
        tiles.connections.show(f.count(info.connections.open), f.exact(info.connections.open), `${per('messages')} messages`, v.connections);
        tiles.memory.show(f.bytes(info.memory.bytes), f.exact(info.memory.bytes, 'bytes'), `of ${f.bytes(info.memory.limit)}`, v.memory);
        tiles.kept.show(f.count(info.kept.held), f.exact(info.kept.held), `${f.bytes(info.kept.bytes)} of ${f.bytes(info.kept.bytes_limit)}`, v.kept_bytes);
        calls.show(s.times, [v.done, v.failed, v.refused]);
        tasks.show(s.times, [v.queued, v.running, v.waiting]);
        if (topology) {
            loops.rows(topology.loops);
            executors.rows(topology.executors);
        }
        const found = needs(data, live.before);
        fillNew(attention, found, () => found.map((n) => h('li', { class: n.tone }, h('a', { href: n.to }, n.text))));
        attention.hidden = found.length === 0;
        calm.hidden = found.length !== 0;
        setText(calm, 'Nothing: no queue is paused, no executor is stuck, no task is dead.');
    }

    return { element, title: 'Overview', update, table: executors, close: () => { calls.close(); tasks.close(); } };
}
