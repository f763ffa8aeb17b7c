// One actor: its stage and why, its state, its mailbox, its reminders, and what can be done about it.

import { actionButton } from '../act.js';
import { call } from '../api.js';
import { fill, fillNew, h, setText } from '../dom.js';
import * as f from '../format.js';
import { lister } from '../lister.js';
import { badge, card, facts, heading, taskLink, tickTimes, when } from '../parts.js';
import { poll } from '../poll.js';
import { learn, sentence, whoami } from '../rights.js';
import { go, link } from '../router.js';
import { makeTable } from '../table.js';
import { valueTree } from '../value.js';
import { tasksTable } from './tasks.js';

const LATEST = 20; // messages
const TONE = { active: 'busy', sleeping: 'plain', stopped: 'warn' };

/** Its stage, and the method that runs. */
export const stageOf = (a) => [badge(a.stage, TONE[a.stage]), a.turn && h('span', { class: 'muted' }, ` ${f.name(a.turn.method)}`)];

export const typeOf = (name) => name.split('/')[0];

/** The buttons that stop an actor, wake it, or have it go on; `steps`: its type has steps; `reason()`: why it is stopped. */
export function actorActions(a, { steps, then, reason = () => '' }) {
    const name = f.name(a.actor), options = { tenant: a.tenant };
    const stop = () => (reason() ? { ...options, reason: reason() } : options);
    return [
        steps && a.stage === 'sleeping' && actionButton({ label: 'Wake', method: 'actor.wake', params: [a.actor, options], title: 'its next step comes now', said: (r) => `${name} is ${r.stage}.`, then }),
        a.stage === 'stopped'
            ? actionButton({ label: 'Start', method: 'actor.start', params: [a.actor, options], said: (r) => `${name} is started: it is ${r.stage}.`, then })
            : actionButton({
                label: 'Stop', method: 'actor.stop', params: () => [a.actor, stop()], does: `Stop ${name}`, keep: 'Let it go on',
                detail: 'What runs goes on. Until it is started, calls are answered STOPPED, also those in its mailbox; other messages wait.', said: () => `${name} is stopped.`, then,
            }),
    ];
}

function makeReminders(name, options, then) {
    return makeTable({
        label: 'Reminders', key: (r) => r.name, empty: 'It has no reminders.',
        columns: [
            { title: 'reminder', kind: 'id', text: (r) => f.name(r.name) },
            { title: 'method', kind: 'id', text: (r) => f.name(r.method) },
            { title: 'due', kind: 'number', text: (r) => (r.due ? f.ago(r.due) : 'now'), hint: (r) => f.moment(r.due) },
            { title: 'every', kind: 'number', text: (r) => (r.every ? f.duration(r.every) : '–') },
            { title: 'task', kind: 'id late', draw: (r) => (r.id ? taskLink(r.id) : ''), changes: (r) => r.id },
            {
                title: '', kind: 'actions', changes: (r) => r.name,
                draw: (r) => actionButton({ label: 'Forget', method: 'actor.forget', danger: true, params: [name, r.name, options], does: `Forget the reminder ${f.name(r.name)}`, said: (was) => (was ? `The reminder ${f.name(r.name)} is forgotten.` : `There was no reminder ${f.name(r.name)} any more.`), then }),
            },
        ],
    });
}

/** The card of its state, which is asked for when it is another; it may be large. */
function makeState(name, options) {
    const place = h('div', {}), version = h('span', { class: 'muted' });
    let shown = null;
    const say = (...text) => fill(place, h('p', { class: 'muted' }, text));

    /** `a`: as actor.get answers without the state. */
    async function draw(a) {
        const sign = JSON.stringify([a.version, a.schema, a.stage]);
        if (sign === shown) return;
        try {
            const { state, state_hidden: hidden, version: of, schema } = await call('actor.get', [name, { ...options, state: true }], { raw: true });
            setText(version, `version ${of.text}, schema ${schema.text}`);
            if (hidden) say(`Hidden. You have neither the right task.params, nor the right to call all methods of ${typeOf(name)}.`);
            else if (state === null) say('It has no state.');
            else fill(place, valueTree(state));
        } catch (error) {
            if (error.code !== 'TOO_LARGE') throw error;
            say('The state is too large for this page. On the command line: ', h('code', {}, `ergon actor get ${name}`));
        }
        shown = sign;
    }
    return { element: card(['State', version], place), draw };
}

export function view({ what: name, parameters }) {
    const tenant = parameters.get('tenant') ?? whoami()?.tenant, options = tenant ? { tenant } : {};
    const parts = { stage: h('span', {}), acts: h('div', { class: 'buttons' }), why: h('p', { class: 'why' }), facts: h('div', {}) };
    const said = h('p', { class: 'said', hidden: true, role: 'alert' });
    const reason = h('input', { type: 'text', 'aria-label': 'Reason of a stop', title: 'why it is stopped: callers get this text', autocomplete: 'off', maxlength: 150 });
    let steps = false;
    call('actor.types').then((types) => { steps = types.some((t) => t.type === typeOf(name) && t.steps); }, (error) => learn('actor.types', error));
    const state = makeState(name, options), reminders = makeReminders(name, options, () => polling.now());
    const messages = tasksTable({ label: 'Latest messages', empty: 'No message to it is kept.' });
    const latest = lister({ method: 'task.list', table: messages, ask: async () => (await call('task.list', [{ ...options, actor: name, limit: LATEST }])).tasks });
    const reminderCard = card('Reminders', reminders.element);
    reminderCard.hidden = true;
    const rest = h('div', { class: 'stack one', hidden: true }, card('Status', parts.why),
        h('div', { class: 'pair' }, card('Facts', parts.facts), state.element), reminderCard,
        card(['Latest messages', h('a', { href: link('tasks', null, { ...options, actor: name }) }, 'all messages to this actor')], latest.said, messages.element));

    const then = () => { polling.now(); latest.now(); };
    const acts = (a) => [
        a.stage !== 'stopped' && h('label', { class: 'field' }, h('span', {}, 'reason'), reason),
        actorActions(a, { steps, then, reason: () => reason.value.trim() }),
        a.stage === 'stopped' && actionButton({
            label: 'Start without state', method: 'actor.start', danger: true, params: [a.actor, { tenant: a.tenant, reset: true }], does: `Start ${name} without its state`, keep: 'Keep its state',
            detail: 'Its state is forgotten. Messages that wait for it run.', said: (r) => `${name} is started without a state: it is ${r.stage}.`, then,
        }),
        actionButton({
            label: 'Drop', method: 'actor.drop', danger: true, params: [a.actor, { tenant: a.tenant }], does: `Drop ${name}`,
            detail: 'Its state is forgotten, and its messages are cancelled. What runs changes nothing.', said: () => `${name} is dropped.`, then,
        }),
    ];

    function clear() {
        rest.hidden = true;
        fillNew(parts.stage, null);
        fillNew(parts.acts, null);
    }

    function draw(a, explain) {
        rest.hidden = false;
        said.hidden = true;
        fillNew(parts.stage, [a.stage, a.turn?.method], () => stageOf(a));
        fillNew(parts.acts, [a.stage, steps, a.tenant], () => acts(a));
        setText(parts.why, explain ? `${f.name(explain.text)}.` : '');
        fillNew(parts.facts, a, () => facts([
            ['type', h('a', { href: link('actors', null, { type: typeOf(name) }) }, typeOf(name))], ['tenant', f.name(a.tenant)], ['durable', f.name(a.durable)],
            a.resident !== undefined && ['state', a.resident ? 'in memory' : 'on disk'],
            ['waiting', h('a', { href: link('tasks', null, { ...options, actor: name, state: 'waiting' }) }, f.plural(a.waiting, 'message'))], a.oldest && ['oldest', when(a.oldest)], a.next && ['next', when(a.next)],
            a.turn && ['runs', [f.name(a.turn.method), ' ', taskLink(a.turn.id)]], a.turn && ['attempt', String(a.turn.attempt)], a.turn?.started && ['began', when(a.turn.started)],
            a.failures > 0 && ['failures', f.exact(a.failures)], a.stopped !== null && ['why it is stopped', f.name(a.stopped)],
        ]));
        tickTimes(parts.facts);
        reminderCard.hidden = !Array.isArray(a.reminders);
        if (a.reminders) reminders.rows(a.reminders);
    }

    const polling = poll(async () => {
        try {
            const a = await call('actor.get', [name, { ...options, state: false }]);
            const explain = await call('actor.explain', [name, options]).catch((error) => { learn('actor.explain', error); return null; });
            draw(a, explain);
            await state.draw(a);
        } catch (error) {
            learn('actor.get', error);
            if (error.code === 'GONE') return;
            const none = error.code === 'NOT_FOUND' || error.code === 'BAD_PARAMS'; // not even a name
            if (none) clear();
            setText(said, none ? `There is no actor ${name}: nobody has sent it a message, or it is dropped, or it is another tenant’s.` : sentence(error));
            said.hidden = false;
        }
    }, 1000);

    return {
        element: h('div', {}, heading('Actor', [h('b', { class: 'queue-name' }, name), parts.stage, h('a', { href: link('actors') }, 'all actors')], parts.acts), said, rest),
        title: `Actor ${name}`, table: messages, back: () => history.back(), refresh: then, close: () => { polling.stop(); latest.stop(); },
    };
}
