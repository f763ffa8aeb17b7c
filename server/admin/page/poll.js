// Asks again and again, one request at a time, more slowly where answers take long, and not at all while nobody looks.

import { live } from './live.js';

const SHARE = 20; // an answer that takes 100 ms is asked for every 2 s at most

/** Calls `ask()`, a promise, at once and then every `every` ms; `now()` asks at once, `stop()` ends it. */
export function poll(ask, every = 2000) {
    let timer = 0, asking = false, again = false, stopped = false;

    async function round() {
        clearTimeout(timer);
        if (asking) { again = true; return; }
        asking = true;
        const began = performance.now();
        try {
            await ask();
        } finally {
            asking = false;
        }
        if (stopped) return;
        if (again) { again = false; return void round(); }
        timer = setTimeout(tick, Math.max(every, SHARE * (performance.now() - began)));
    }

    function tick() {
        if (document.hidden || live.state === 'lost') timer = setTimeout(tick, every);
        else round();
    }

    round();
    return { now: round, stop: () => { stopped = true; clearTimeout(timer); } };
}
