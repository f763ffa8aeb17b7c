// Gathers how long tasks wait and run, while the page is open, by rights.

import { call } from './api.js';
import { live } from './live.js';
import { poll } from './poll.js';
import { learn } from './rights.js';

const EVERY = 5000, MOST = 64; // ms; methods, of which the server tells

/** Begins; the function that is returned ends it. */
export function gatherTimes() {
    const polling = poll(async () => {
        try {
            const answer = await call('server.times', [{ limit: MOST }]);
            live.latency.add(performance.now() / 1000, answer);
            live.latencyError = null;
            live.latencyMore = answer.more;
        } catch (error) {
            learn('server.times', error);
            live.latencyError = error.code === 'GONE' ? null : error;
        }
    }, EVERY);
    return polling.stop;
}
