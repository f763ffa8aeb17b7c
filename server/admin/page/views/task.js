// One task: its state and why, its attempts, what happened to it, its progress and its result, and what can be done about it.

import { actionButton } from '../act.js';
import { submitAgain } from '../again.js';
import { call } from '../api.js';
import { tell } from '../ask.js';
import { parameters, traceback } from '../contents.js';
import { fill, fillNew, h, setText } from '../dom.js';
import * as f from '../format.js';
import { actorLink, badge, batchLink, card, facts, heading, isOpen, taskLink, tickTimes, when } from '../parts.js';
import { follow } from '../live.js';
import { poll } from '../poll.js';
import { learn, mark, may, sentence } from '../rights.js';
import { go, link } from '../router.js';
import { makeTable } from '../table.js';
import { valueTree } from '../value.js';

const TONE = { done: 'good', failed: 'bad', dead: 'bad', expired: 'bad', attempt_failed: 'bad', timed_out: 'bad', interrupted: 'warn', fenced: 'warn', started: 'busy', cancelled: 'dim' };
const WAITS_FOR_TIME = ['delay', 'retry', 'again', 'lost'];

const OUTCOME_TONE = { done: 'good', cancelled: 'dim', again: 'plain', interrupted: 'warn' };

// How long an attempt has run, in microseconds.
function ran({ started, run_us, outcome }) {
    if (run_us !== null) return f.duration(run_us / 1000);
    return outcome === null && started !== null ? `${f.duration(Math.max(0, f.now() - started)).replace(/\.\d+/, '')} so far` : '–';
}

// Which worker ran it: its name, or its number.
const ranBy = (a) => (a.worker === null ? h('span', { class: 'muted' }, a.started === null ? '–' : 'the server') : h('span', {}, f.name(a.name ?? a.worker), a.name && h('span', { class: 'muted' }, ` ${f.name(a.worker)}`)));

// What an event tells: of `progress`, how far it is.
function told({ event, text, data, traceback: trace }) {
    if (event === 'progress' && Number.isFinite(data?.done)) return [data.total ? `${f.exact(data.done)} of ${f.exact(data.total)}` : f.exact(data.done), text !== null && h('span', { class: 'muted' }, ` ${f.name(text)}`)];
    return [text !== null && f.name(text), data !== null && data !== undefined && valueTree(data), traceback(trace)];
}

// What of an explanation is ids of other tasks, by the protocol.
function others(explain) {
    const rows = [];
    for (const [name, title] of [['running', 'runs in its place'], ['after', 'has to be done first'], ['after_any', 'has to end first'], ['after_failed', 'was not done'], ['turn', 'has the turn'], ['awaited_by', 'wait for its end']]) {
        const ids = [explain[name]].flat().filter((id) => typeof id === 'string' && id);
        if (ids.length) rows.push(h('div', {}, h('span', { class: 'muted' }, `${title}: `), ids.slice(0, 12).map((id) => [taskLink(id), ' ']), ids.length > 12 && `and ${ids.length - 12} more`));
    }
    for (const held of explain.held ?? []) rows.push(h('div', {}, h('span', { class: 'muted' }, 'held by: '), `${f.name(held.principal)}, ${f.plural(held.permits, 'permit')}`));
    if (explain.executors?.length) rows.push(h('div', {}, h('span', { class: 'muted' }, 'executors: '), explain.executors.slice(0, 16).map((e) => h('span', { class: 'chip small' }, `${f.name(e.name)} ${e.outstanding}/${e.bound}`))));
    if (explain.last_error && !f.name(explain.text).includes(f.name(explain.last_error))) rows.push(h('div', { class: 'error' }, f.name(explain.last_error)));
    if (explain.next) rows.push(h('div', {}, h('span', { class: 'muted' }, 'next: '), when(explain.next)));
    return rows;
}

const SHOWN = 12; // tasks that one comes after

// What it comes after, of the options as they were submitted; its parameters, as far as they are shown, say whose results it takes.
function sources({ options, params_text: text }) {
    const taken = new Set([...(text ?? '').matchAll(/"\$result":\s*"(t\w+)"/g)].map(([, id]) => id));
    const rows = [['after', options?.after], ['after, however it ends', options?.after_any]].map(([title, of]) => [title, [of ?? []].flat()]).filter(([, ids]) => ids.length);
    return rows.map(([title, ids]) => [title, [ids.slice(0, SHOWN).map((id) => h('div', {}, taskLink(id), taken.has(id) && h('span', { class: 'muted' }, ' its result is a parameter'))), ids.length > SHOWN && `and ${f.plural(ids.length - SHOWN, 'other')}`]]);
}

// The card of its checkpoint; the value, of up to 64 KiB, is asked for while somebody looks at it.
function makeCheckpoint(id) {
    const size = h('span', { class: 'muted' }), place = h('div', {}), look = h('details', { ontoggle: () => show().catch(() => {}) }, h('summary', {}, 'Value'), place);
    const element = card(['Checkpoint', size], look);
    let last = null;
    element.hidden = true;

    async function show() {
        if (!look.open || element.hidden) return;
        const { checkpoint, result_hidden: hidden } = await call('task.get', [id], { raw: true });
        if (hidden) fillNew(place, 'hidden', h('p', { class: 'muted' }, 'Hidden. You have neither the right task.params, nor the right to call its method.'));
        else if (checkpoint !== undefined) fillNew(place, checkpoint, () => valueTree(checkpoint));
    }

    /** `task`: as task.get answers without the result. */
    async function draw(task) {
        element.hidden = task.checkpoint_size === undefined;
        setText(size, element.hidden ? '' : f.bytes(task.checkpoint_size));
        if (isOpen(task) || last !== task.checkpoint_size) await show();
        last = task.checkpoint_size;
    }
    return { element, draw };
}

export function view({ what: id }) {
    let hasResult = false, shownTo; // the number of the last event that is shown
    const parts = {
        head: h('div', { class: 'task-head' }), why: h('p', { class: 'why' }), others: h('div', { class: 'others' }), progress: h('div', { class: 'progress' }), facts: h('div', {}),
        error: h('p', { class: 'error', hidden: true }), result: h('div', {}), params: h('div', {}), acts: h('div', { class: 'buttons' }), history: h('ol', { class: 'history', tabindex: '0', 'aria-label': 'History' }),
    };
    const said = h('p', { class: 'said', hidden: true, role: 'alert' });
    const attempts = makeTable({
        label: 'Attempts', key: (a) => a.attempt, empty: 'It has not begun yet.',
        columns: [
            { title: 'attempt', text: (a) => String(a.attempt) },
            { title: 'outcome', kind: 'state', draw: (a) => badge((a.outcome ?? 'running').replaceAll('_', ' '), a.outcome === null ? 'busy' : OUTCOME_TONE[a.outcome] ?? 'bad'), changes: (a) => a.outcome },
            { title: 'worker', draw: ranBy, changes: (a) => [a.worker, a.name, a.started === null] },
            { title: 'host', kind: 'clip', text: (a) => (a.host === null ? '' : f.name(a.host)), hint: (a) => (a.host === null ? '' : f.name(a.host)) },
            { title: 'version', text: (a) => (a.version === null ? '' : f.name(a.version)) },
            { title: 'queued', kind: 'number', text: (a) => (a.queued_us === null ? '–' : f.duration(a.queued_us / 1000)), hint: () => 'from when it could run to its begin' },
            { title: 'ran', kind: 'number', text: ran, hint: (a) => (a.ended ? `ended ${f.moment(a.ended)}` : '') },
            { title: 'began', kind: 'number', text: (a) => f.date(a.started), hint: (a) => f.moment(a.started) },
            { title: 'error', kind: 'grow', draw: (a) => [a.error !== null && h('span', {}, f.name(a.error)), traceback(a.traceback, a.traceback_size)], changes: (a) => [a.error, a.traceback_size, a.traceback === null] },
        ],
    });
    let given = null; // id, method and parameters, which do not change
    const checkpoint = makeCheckpoint(id);
    const paramsCard = card('Parameters', parts.params);
    const resultCard = card('Result', parts.error, parts.result);
    const element = h('div', { class: 'task' },
        heading('Task', parts.head, parts.acts), said,
        card('Why it is where it is', parts.why, parts.progress, parts.others),
        h('div', { class: 'pair' }, card('Facts', parts.facts), h('div', { class: 'stack one' }, paramsCard, checkpoint.element, resultCard)),
        card('Attempts', attempts.element), card('History', parts.history));
    element.hidden = true;
    const whole = h('div', {}, said, element);

    const then = () => polling.now();
    const name = () => `The task ${id}`;
    const copy = () => h('button', { type: 'button', class: 'quiet', title: 'copy the id', onclick: () => navigator.clipboard?.writeText(id).then(() => tell('The id is copied.'), () => {}) }, 'copy');
    function acts(task, explain) {
        const open = isOpen(task), acts = [];
        if (open && WAITS_FOR_TIME.includes(explain?.reason ?? task.reason))
            acts.push(actionButton({ label: 'Run now', method: 'task.run_now', params: [id], title: 'waits for its time no more', said: () => `${name()} waits for its time no more.`, then }));
        if (open && !['running', 'parked'].includes(task.state)) acts.push(priority(task));
        if (open) acts.push(actionButton({ label: 'Cancel', method: 'task.cancel', params: [id], danger: true, does: `Cancel the task ${id}`, detail: 'A handler that runs is told to stop.', said: (r) => (r.cancelled ? `${name()} is cancelled.` : `${name()} is not cancelled: it is ${r.state}, or others still want it.`), then }));
        if (!open && task.state !== 'done') acts.push(actionButton({ label: 'Retry', method: 'task.retry', params: [id], kind: 'primary', title: 'queues it again, with all its retries', said: () => `${name()} is queued again.`, then: () => { hasResult = false; then(); } }));
        if (!open) acts.push(actionButton({ label: 'Delete', method: 'task.forget', params: [id], danger: true, does: `Delete the task ${id}`, detail: 'Its result and its history go, and its key is free again.', said: () => `${name()} is deleted.`, then: () => go(link('tasks')) }));
        acts.push(again());
        return acts;
    }

    function again() {
        const button = h('button', { type: 'button', 'data-method': 'task.submit', 'aria-haspopup': 'dialog', title: 'a new task with these parameters, which can be changed first', onclick: () => submitAgain(id) }, 'Submit again …');
        mark(button);
        return button;
    }

    function priority(task) {
        const select = h('select', { 'aria-label': 'Priority' }, [...Array(10).keys()].map((n) => h('option', { value: n, selected: n === task.priority }, `priority ${n}`)));
        const button = actionButton({ label: 'Set', method: 'task.change', params: () => [id, { priority: Number(select.value) }], said: (r) => `${name()} has priority ${r.priority}.`, then });
        return h('span', { class: 'joined' }, select, button);
    }

    function draw(task, explain) {
        element.hidden = false;
        said.hidden = true;
        fillNew(parts.acts, [task.state, explain?.reason, task.priority], () => acts(task, explain));
        fillNew(parts.head, [task.state, task.method], () => [badge(task.state), h('b', {}, f.name(task.method)), h('code', { class: 'id' }, id), copy()]);
        setText(parts.why, explain ? `${f.name(explain.text).replace(/^./, (c) => c.toUpperCase())}.` : '');
        fillNew(parts.others, { ...explain, text: null }, () => (explain ? others(explain) : null));
        const p = task.progress;
        parts.progress.hidden = !p;
        if (p) fill(parts.progress, isOpen(task) ? h('progress', { max: String(p.total || 1), value: p.total ? String(p.done) : null, 'aria-label': 'Progress' }) : h('span', { class: 'muted' }, 'last reported:'),
            h('span', {}, p.total ? `${f.count(p.done)} of ${f.count(p.total)}` : f.count(p.done)), p.text && h('span', { class: 'muted' }, f.name(p.text)));
        fillNew(parts.facts, { ...task, history: null, progress: null, reason: null }, () => facts([
            ['method', h('a', { href: link('tasks', null, { method: task.method }) }, f.name(task.method))], ['tenant', f.name(task.tenant)],
            task.actor && ['actor', actorLink(task.actor, task.tenant)], task.reminder && ['reminder', f.name(task.reminder)], task.every && ['every', f.duration(task.every)], task.key !== null && ['key', h('code', {}, f.name(task.key))], task.batch && ['batch', batchLink(task.batch)], task.callback_of && ['follows', batchLink(task.callback_of), 'the batch that has submitted it'], ...sources(given), ['priority', String(task.priority)], ['durable', task.durable],
            ['attempt', `${task.attempt}${task.retries ? `, ${f.plural(task.failures, 'failure')} of at most ${task.retries + 1}` : ''}`],
            task.crashes > 0 && ['crashes', String(task.crashes)], task.losses > 0 && ['losses', String(task.losses)],
            ['submitted', when(task.created)], task.due && ['due', when(task.due)], task.started && ['began', when(task.started)], task.ended && ['ended', when(task.ended)],
            task.started && task.ended && ['took', f.between(task.started, task.ended)], task.deadline && ['deadline', when(task.deadline)],
        ]));
        parts.error.hidden = task.error === null;
        setText(parts.error, task.error === null ? '' : f.name(task.error));
        attempts.rows((task.attempts ?? []).toReversed());
        fillNew(parts.params, [given.params_hidden, given.params_text], () => parameters(given));
        tickTimes(element);
        drawHistory(task.history ?? []);
        if (isOpen(task)) fill(parts.result, h('p', { class: 'muted' }, 'It has not ended yet.'));
    }

    function drawHistory(history) {
        const last = history.at(-1)?.seq;
        if (shownTo === last) return;
        shownTo = last;
        fill(parts.history, history.map((e) => h('li', { class: TONE[e.event] ?? 'plain' }, h('time', { datetime: f.moment(e.at), title: f.moment(e.at) }, f.time(e.at)),
            h('span', { class: 'event' }, e.event.replaceAll('_', ' '), e.attempt > 0 && h('span', { class: 'muted' }, ` attempt ${e.attempt}`), e.reason && h('span', { class: 'muted' }, ` ${e.reason}`)),
            h('span', { class: 'text' }, told(e)))));
        parts.history.scrollTop = parts.history.scrollHeight;
    }

    // The result may be large, so it is asked for once, at the end.
    async function drawResult(task) {
        if (hasResult || isOpen(task)) return;
        hasResult = true;
        if (task.state !== 'done') return void fill(parts.result, h('p', { class: 'muted' }, 'There is no result.'));
        let result, cut, hidden;
        try {
            ({ result, cut, result_hidden: hidden } = await call('task.get', [id], { raw: true }));
        } catch (error) {
            if (error.code !== 'TOO_LARGE') throw error;
            return void fill(parts.result, h('p', { class: 'muted' }, 'The result is too large for this page. On the command line: ', h('code', {}, `ergon task get ${id}`)));
        }
        if (hidden) return void fill(parts.result, h('p', { class: 'muted' }, `Hidden. You have neither the right task.params, nor the right to call ${f.name(task.method)}.`));
        fill(parts.result, cut ? h('p', { class: 'muted' }, 'The result was larger than what is kept of it (keep_size).') : valueTree(result));
    }

    // Of one that has ended, too: somebody may try it again, or forget it.
    let letFeed = null;
    function followFeed() {
        if (!letFeed && may('task.events')) letFeed = follow({ id }, (page) => { if (!page.error) polling.soon(); });
    }

    const polling = poll(async () => {
        try {
            const task = await call('task.get', [id, { history: true, result: false, attempts: true, ...(given === null ? { params_text: true, options: true } : {}) }]);
            given ??= task;
            const explain = await call('task.explain', [id]).catch((error) => { learn('task.explain', error); return null; });
            draw(task, explain);
            followFeed();
            await checkpoint.draw(task);
            await drawResult(task);
        } catch (error) {
            learn('task.get', error);
            if (error.code === 'GONE') return;
            hasResult = false;
            const none = error.code === 'NOT_FOUND' || error.code === 'BAD_PARAMS'; // not even an id
            if (none) element.hidden = true;
            setText(said, none ? `There is no task ${id}, or it is forgotten, or it is another tenant’s.` : sentence(error));
            said.hidden = false;
        }
    }, 1000);

    return { element: whole, title: `Task ${id}`, refresh: polling.now, back: () => history.back(), close: () => { letFeed?.(); polling.stop(); } };
}
