// Small pieces that several views show.

import { h, setText } from './dom.js';
import * as f from './format.js';
import { whoami } from './rights.js';
import { link } from './router.js';

const TONE = {
    done: 'good', failed: 'bad', dead: 'bad', expired: 'bad', cancelled: 'dim', running: 'busy', parked: 'busy', assigned: 'busy', queued: 'plain', delayed: 'plain', waiting: 'warn',
};

export const OPEN = ['queued', 'delayed', 'waiting', 'assigned', 'running', 'parked'];
export const ENDED = ['done', 'failed', 'cancelled', 'expired', 'dead'];
export const isOpen = (task) => OPEN.includes(task.state);

/** A word with a colour, which never is all that tells it. */
export const badge = (word, tone = TONE[word] ?? 'plain') => h('span', { class: `badge ${tone}` }, word);

export const taskLink = (id) => h('a', { href: link('task', id), class: 'id' }, id);

export const batchLink = (id) => h('a', { href: link('batch', id), class: 'id' }, id);

/** Where an actor is shown; `tenant`: whose, by default one's own. */
export const actorAddress = (name, tenant = null) => link('actor', name, { tenant: tenant === whoami()?.tenant ? null : tenant });
export const actorLink = (name, tenant) => h('a', { href: actorAddress(name, tenant), class: 'id' }, f.name(name));

/** How full something is. */
export function bar(part, whole, title) {
    return h('progress', { class: 'bar', max: '100', value: f.percent(part, whole).toFixed(1), title, 'aria-label': title });
}

export const facts = (pairs) => h('dl', { class: 'facts' }, pairs.filter(Boolean).map(([term, value, title]) =>
    h('div', {}, h('dt', {}, term), h('dd', { title }, value))));

export const when = (at) => h('time', { datetime: f.moment(at), title: f.moment(at), 'data-at': at }, f.ago(at));

/** Brings what when() made within `element` up to date. */
export function tickTimes(element) {
    for (const time of element.querySelectorAll('time[data-at]')) setText(time, f.ago(Number(time.dataset.at)));
}

/** A view's head: its title, what stands beside it, and controls on the right. */
export const heading = (title, beside, ...controls) => h('div', { class: 'heading' }, h('h1', { tabindex: '-1' }, title), beside, h('div', { class: 'controls' }, controls));

/** A card whose title is the view's. */
export const onlyCard = (title, ...inside) => h('section', { class: 'card', 'aria-label': title }, inside);

/** A card with a title, behind which a link may stand: [title, link]. */
export function card(title, ...inside) {
    const [text, beside] = [title].flat();
    return h('section', { class: 'card', 'aria-label': text }, beside ? h('div', { class: 'title' }, h('h2', {}, text), beside) : h('h2', {}, text), inside);
}
