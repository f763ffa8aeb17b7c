// What happens now: the server's events, with a connection that comes back by itself, and the figures of the last minutes.

import { call, followBy, sessionOrOpen } from './api.js';
import { now, serverTime } from './format.js';
import { latencyOf } from './latency.js';
import { samplesOf } from './samples.js';

const FIRST_PAUSE = 500, LONGEST_PAUSE = 5000; // ms between attempts to connect again

/** `state` is 'connecting', 'live' or 'lost'; `last` the last event's data, `before` that of the one before; `latency` what times.js has gathered, `latencyError` why it has not. */
export const live = { state: 'connecting', last: null, before: null, samples: samplesOf(), latency: latencyOf(), latencyError: null, latencyMore: 0 };

const watchers = new Set(), stateWatchers = new Set();
let source = null, timer = 0, pause = FIRST_PAUSE, running = false, mayCome = () => {};
let stream = null, followed = null, marks = 0; // the stream's number, and what it is to send of the feed

/** Calls `watcher` with each event's data until the function that it returns is called. */
export function watch(watcher) {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
}

export function watchState(watcher) {
    stateWatchers.add(watcher);
    watcher(live.state);
    return () => stateWatchers.delete(watcher);
}

/** Has `onPage` called with the pages of events that `options` (of task.events) mean: {events, gap, missed} or {error}.  One view at a time follows.  After a
 *  connection that was lost it goes on where it was, and the server says in `gap` whether something is missing.  The function that is returned ends it. */
export function follow(options, onPage) {
    const mine = (followed = { options, onPage, mark: ++marks, after: options.after });
    tellStream();
    return () => {
        if (followed !== mine) return;
        followed = null;
        tellStream();
    };
}

// One after the other: each is a request on a connection of its own, and the last that is told counts.  What is not told now, since there is no stream, is
// told when there is one.
let telling = Promise.resolve();
const tellStream = () => { telling = telling.then(tellNow); };

async function tellNow() {
    if (stream === null) return;
    const mine = followed;
    try {
        await followBy(stream, mine && { ...mine.options, ...(mine.after ? { after: mine.after } : {}), mark: mine.mark });
    } catch (error) {
        if (mine && mine === followed && !['GONE', 'NOT_FOUND', 'AUTH'].includes(error.code)) mine.onPage({ error: { code: error.code, text: error.message } });
    }
}

function onEvents(page) {
    if (!followed || page.mark !== followed.mark) return;
    if (page.next) followed.after = page.next;
    followed.onPage(page);
}

const parsed = (text) => {
    try {
        return JSON.parse(text);
    } catch {
        return null;
    }
};

function enter(state) {
    if (live.state === state) return;
    live.state = state;
    for (const watcher of stateWatchers) watcher(state);
}

/** Begins; `onNoSession` is called where the server wants a token (again). */
export function start(onNoSession) {
    stop();
    running = true;
    mayCome = onNoSession;
    live.samples = samplesOf();
    live.latency = latencyOf();
    live.latencyError = null;
    live.last = live.before = null;
    open();
    fill(live.samples);
}

// Without the right to it the series begin empty.
async function fill(samples) {
    try {
        const answer = await call('server.figures');
        samples.fill(performance.now() / 1000 - Math.min(1, Math.max(0, (now() - answer.at) / 1000)), answer);
    } catch {
        return;
    }
    if (samples === live.samples && live.last) for (const watcher of watchers) watcher(live.last);
}

export function stop() {
    running = false;
    clearTimeout(timer);
    source?.close();
    source = stream = null;
}

function open() {
    source = new EventSource('/api/live');
    source.addEventListener('stream', (event) => {
        stream = parsed(event.data)?.stream ?? null;
        if (followed) tellStream();
    });
    source.addEventListener('task', (event) => {
        const page = parsed(event.data);
        if (page) onEvents(page);
    });
    source.addEventListener('info', (event) => {
        const data = parsed(event.data);
        if (!data) return;
        pause = FIRST_PAUSE;
        live.before = live.last;
        live.last = data;
        if (data.info) serverTime(data.info.time);
        live.samples.add(performance.now() / 1000, data);
        enter('live');
        for (const watcher of watchers) watcher(data);
    });
    source.addEventListener('error', () => {
        source?.close();
        source = stream = null;
        if (!running) return;
        enter('lost');
        again();
    });
}

function again() {
    clearTimeout(timer);
    timer = setTimeout(reconnect, pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE);
}

// The error of an EventSource tells no status, so the session is asked for: a server that was started again knows it no more.
async function reconnect() {
    if (!running) return;
    let is = null;
    try {
        is = await sessionOrOpen();
    } catch (error) {
        if (error.code === 'GONE') return again();
    }
    if (!is) {
        stop();
        return mayCome();
    }
    if (running) open();
}

// A page that the browser keeps to go back to would keep its stream as well, of which a session has a few only.
addEventListener('pagehide', () => {
    clearTimeout(timer);
    source?.close();
    source = stream = null;
});
addEventListener('pageshow', (event) => {
    if (event.persisted && running) reconnect();
});

/** Tries at once, as when somebody asks for it. */
export function retryNow() {
    if (live.state !== 'lost') return;
    clearTimeout(timer);
    pause = FIRST_PAUSE;
    reconnect();
}

/** Methods that the server knows by its queues and handlers, for suggestions. */
export function knownMethods() {
    const names = new Set();
    for (const queue of live.last?.queues ?? []) names.add(queue.method);
    for (const handler of live.last?.info?.handlers ?? []) names.add(handler.name);
    return [...names].filter((name) => typeof name === 'string').sort();
}

