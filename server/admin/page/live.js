// What happens now: the server's events, with a connection that comes back by itself, and the figures of the last minutes.

import { session, signIn } from './api.js';
import { samplesOf } from './samples.js';

const FIRST_PAUSE = 500, LONGEST_PAUSE = 5000; // ms between attempts to connect again

/** `state` is 'connecting', 'live' or 'lost'; `last` the last event's data. */
export const live = { state: 'connecting', last: null, samples: samplesOf() };

const watchers = new Set(), stateWatchers = new Set();
let source = null, timer = 0, pause = FIRST_PAUSE, running = false, mayCome = () => {};

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
    live.last = null;
    open();
}

export function stop() {
    running = false;
    clearTimeout(timer);
    source?.close();
    source = null;
}

function open() {
    source = new EventSource('/api/live');
    source.addEventListener('info', (event) => {
        let data;
        try {
            data = JSON.parse(event.data);
        } catch {
            return;
        }
        pause = FIRST_PAUSE;
        live.last = data;
        live.samples.add(performance.now() / 1000, data);
        enter('live');
        for (const watcher of watchers) watcher(data);
    });
    source.addEventListener('error', () => {
        source?.close();
        source = null;
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
    try {
        await session();
    } catch (error) {
        if (error.code === 'GONE') return again();
        try {
            await signIn();
        } catch (refused) {
            if (refused.code === 'GONE') return again();
            stop();
            return mayCome();
        }
    }
    if (running) open();
}

// A page that the browser keeps to go back to would keep its stream as well, of which a session has a few only.
addEventListener('pagehide', () => {
    clearTimeout(timer);
    source?.close();
    source = null;
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

