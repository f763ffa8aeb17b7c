// The page: signs in, draws the frame, and shows the view that the address names.

import * as api from './api.js';
import { tell } from './ask.js';
import { fill, h, setText } from './dom.js';
import * as f from './format.js';
import { listen, PLACES } from './keys.js';
import * as live from './live.js';
import * as rights from './rights.js';
import * as router from './router.js';
import * as theme from './theme.js';
import { gatherTimes } from './times.js';
import { view as actor } from './views/actor.js';
import { view as actors } from './views/actors.js';
import { view as batch } from './views/batch.js';
import { view as batches } from './views/batches.js';
import { view as charts } from './views/charts.js';
import { view as connections } from './views/connections.js';
import { view as crons } from './views/crons.js';
import { view as events } from './views/events.js';
import { view as methods } from './views/methods.js';
import { view as overview } from './views/overview.js';
import { view as queues } from './views/queues.js';
import { view as semaphores } from './views/semaphores.js';
import { signInView } from './views/signin.js';
import { view as task } from './views/task.js';
import { view as tasks } from './views/tasks.js';
import { view as workers } from './views/workers.js';
import { showWhoami } from './whoami.js';

const VIEWS = { overview, charts, methods, events, queues, tasks, task, batches, batch, actors, actor, workers, crons, semaphores, connections };
const STATES = { connecting: ['Connecting …', 'dim'], live: ['Live', 'good'], lost: ['Not connected', 'bad'] };

const app = document.getElementById('app');
let view = null, frame = null, wasLost = false;
const keys = listen(() => view);

// The list that a view of one belongs to.
const PLACE_OF = { task: 'tasks', batch: 'batches', actor: 'actors' };

// Figures beside the places, where there are some.
const BESIDE = {
    queues: (d) => { const held = d.queues?.filter((q) => q.paused || q.draining).length; return held ? `${f.count(held)} held` : ''; },
    tasks: (d) => (d.info ? f.count(d.info.kept.held) : ''),
    actors: (d) => (d.info ? f.count(d.info.actors.resident) : ''),
    workers: (d) => (d.info ? f.count(d.info.workers.registered) : ''),
    semaphores: (d) => (d.info ? f.count(d.info.shared.semaphores) : ''),
    connections: (d) => (d.info ? f.count(d.info.connections.open) : ''),
};

function makeFrame() {
    const menu = h('button', { type: 'button', class: 'quiet menu', 'aria-expanded': 'false', 'aria-controls': 'places', onclick: () => toggle() }, 'Menu');
    const beside = {};
    const links = PLACES.map(([key, name, title]) => {
        beside[name] = h('span', { class: 'n' });
        return h('a', { href: `#/${name}`, 'data-view': name, 'data-keys': `g ${key}`, onclick: () => toggle(false) }, h('span', {}, title), beside[name]);
    });
    const nav = h('nav', { id: 'places', 'aria-label': 'Views' }, links);
    const state = h('span', { class: 'connected', role: 'status' });
    const who = h('button', { type: 'button', class: 'quiet who', 'aria-haspopup': 'dialog', onclick: showWhoami });
    const header = h('header', {}, h('a', { class: 'brand', href: '#/overview' }, 'ergon'), state, who,
        h('button', { type: 'button', class: 'quiet', 'aria-label': 'Dark or light', title: 'dark or light (d)', onclick: theme.next }, '◐'),
        h('button', { type: 'button', class: 'quiet', 'aria-label': 'Keys', title: 'keys (?)', onclick: keys.help }, '?'),
        h('button', { type: 'button', class: 'quiet out', onclick: leave }, 'Sign out'), menu);
    const lost = h('div', { class: 'lost', role: 'alert', hidden: true });
    const main = h('main', { id: 'main', tabindex: '-1' });

    function toggle(open = !nav.classList.contains('open')) {
        nav.classList.toggle('open', open);
        menu.setAttribute('aria-expanded', String(open));
    }
    setText(who, api.principal ?? '');
    who.title = `you are ${api.principal ?? 'nobody'}: what you may do (i)`;
    who.setAttribute('aria-label', `You are ${api.principal ?? 'nobody'}: show what you may do`);
    fill(app, header, nav, h('div', { class: 'content' }, lost, main));

    // What may not be seen is marked, and says why; it can be looked at all the same.
    function markPlaces() {
        for (const place of links) {
            const why = rights.whyNot(rights.NEEDS[place.dataset.view]);
            place.classList.toggle('barred', why !== null);
            place.title = why === null ? place.dataset.keys : `Not allowed: ${why}`;
        }
    }
    markPlaces();
    const letState = live.watchState((now) => {
        const [word, tone] = STATES[now];
        state.className = `connected ${tone}`;
        setText(state, word);
        lost.hidden = now !== 'lost';
        if (now === 'lost') fill(lost, 'Not connected: the figures are old. Trying again … ', h('button', { type: 'button', onclick: () => live.retryNow() }, 'Try now'));
        document.body.classList.toggle('stale', now === 'lost');
        if (now === 'lost') wasLost = true;
        else if (now === 'live' && wasLost) askRights();
    });
    const letLive = live.watch((data) => {
        for (const [name, of] of Object.entries(BESIDE)) setText(beside[name], String(of(data)));
        view?.update?.(data);
    });
    const letTimes = rights.may('server.times') ? gatherTimes() : () => {};
    return { main, links, markPlaces, close: () => { letState(); letLive(); letTimes(); } };
}

function show(where) {
    if (!frame) return;
    view?.close?.();
    const make = Object.hasOwn(VIEWS, where.view) ? VIEWS[where.view] : null;
    view = make ? make(where) : { element: h('p', { class: 'empty' }, `There is no view "${where.view}". `, h('a', { href: '#/overview' }, 'Overview')), title: 'Nothing here' };
    fill(frame.main, view.element);
    document.title = `${view.title} – Ergon`;
    for (const link of frame.links) {
        if (link.dataset.view === (PLACE_OF[where.view] ?? where.view)) link.setAttribute('aria-current', 'page');
        else link.removeAttribute('aria-current');
    }
    scrollTo(0, 0);
    if (live.live.last) view.update?.(live.live.last);
    if (!frame.main.contains(document.activeElement)) frame.main.focus({ preventScroll: true });
}

function close() {
    live.stop();
    view?.close?.();
    frame?.close();
    view = frame = null;
}

// Whoever connects again may have other rights by then.
async function askRights() {
    wasLost = false;
    try {
        if (await rights.load()) frame?.markPlaces();
    } catch {
        // It is asked for again with the next connection.
    }
}

async function enter() {
    close();
    rights.forgetAll();
    await rights.load().catch(() => {});
    frame = makeFrame();
    live.start(askWho);
    show(router.current());
}

function askWho() {
    close();
    const sign = signInView(enter);
    document.title = 'Sign in – Ergon';
    fill(app, sign.element);
    sign.focus();
}

async function leave() {
    try {
        await api.signOut();
        askWho();
    } catch {
        tell('The server does not answer: the session has not been ended.', 'bad');
    }
}

// Takes the session that is there, opens one that needs no token, or asks for a token.
async function begin() {
    try {
        if (await api.sessionOrOpen()) enter();
        else askWho();
    } catch (error) {
        if (error.code !== 'GONE') return askWho();
        fill(app, h('main', { class: 'signin' }, h('p', {}, 'The server does not answer. Trying again …')));
        setTimeout(begin, 2000);
    }
}

let asking = false;
api.onSignedOut(async () => {
    if (asking || !frame) return;
    asking = true;
    await api.sessionOrOpen().then((is) => (is ? is.opened && enter() : askWho()), (error) => error.code !== 'GONE' && askWho());
    asking = false;
});
router.start(show);
begin();
