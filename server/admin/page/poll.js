// Asks again and again, one request at a time, more slowly where answers take long, and not at all while nobody looks.

import { live } from './live.js';

const SOON = 300; // ms between two answers at least, however much changes
const SHARE = 20; // an answer that takes 100 ms is asked for every 2 s at most

/** Calls `ask()`, a promise, at once and then every `every` ms; `now()` asks at once, `soon()` as well, but not too often, `stop()` ends it. */
export function poll(ask, every = 2000) {
    let timer = 0, asking = false, again = false, stopped = false, last = 0, took = 0;

    async function round() {
        clearTimeout(timer);
        if (asking) { again = 'now'; return; }
        asking = true;
        const began = (last = performance.now());
        try {
            await ask();
        } finally {
            asking = false;
            took = performance.now() - began;
        }
        if (stopped) return;
        if (again) {
            const how = again;
            again = false;
            return void (how === 'now' ? round() : soon());
        }
        timer = setTimeout(tick, Math.max(every, SHARE * took));
    }

    function tick() {
        if (document.hidden || live.state === 'lost') timer = setTimeout(tick, every);
        else round();
    }

    /** Something has changed: asks as soon as that is not too often. */
    function soon() {
        if (stopped) return;
        if (asking) { again ||= 'soon'; return; }
        clearTimeout(timer);
        timer = setTimeout(tick, Math.max(0, last + Math.max(SOON, 4 * took) - performance.now()));
    }

    round();
    return { now: round, soon, stop: () => { stopped = true; clearTimeout(timer); } };
}
