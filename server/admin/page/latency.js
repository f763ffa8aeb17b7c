// How long tasks wait and run, as percentiles of the time between two answers of server.times, whose counts only grow.  Pure.

const KEPT = 120;  // answers
const WINDOW = 12; // of these make "the last minute"

export const SHARES = [['p50', .5], ['p95', .95], ['p99', .99]];

// [bucket, count, bucket, count, ...] as counts by bucket.
function spread(flat) {
    const counts = new Map();
    for (let i = 0; i + 1 < (flat?.length ?? 0); i += 2) counts.set(flat[i], flat[i + 1]);
    return counts;
}

/** What has come since: null where the server was started anew, and counts anew. */
function since(now, then) {
    const more = new Map();
    for (const [bucket, count] of now) {
        const before = then?.get(bucket) ?? 0;
        if (count < before) return null;
        if (count > before) more.set(bucket, count - before);
    }
    return more;
}

function addTo(sum, more) {
    for (const [bucket, count] of more) sum.set(bucket, (sum.get(bucket) ?? 0) + count);
    return sum;
}

/** In ms, as if what is in a bucket were spread over it evenly; null where nothing was counted. */
export function percentile(counts, bounds, share) {
    const all = [...counts.values()].reduce((sum, n) => sum + n, 0);
    if (!all) return null;
    let below = 0;
    for (const [bucket, count] of [...counts].sort((a, b) => a[0] - b[0])) {
        if (below + count >= share * all) {
            const low = bucket > 0 ? bounds[bucket - 1] : 0, high = bounds[bucket] ?? low;
            return (low + (high - low) * Math.min(1, (share * all - below) / count)) / 1e6;
        }
        below += count;
    }
    return bounds.at(-1) / 1e6;
}

const figures = (counts, bounds) => Object.fromEntries(SHARES.map(([name, share]) => [name, percentile(counts, bounds, share)]));

/** Keeps the answers of the last minutes.  `add(at, answer)`: of server.times, at `at` seconds. */
export function latencyOf() {
    const steps = []; // {at, seconds, methods: name -> {done, failed, wait, run}}, each since the one before
    let before = null, bounds = [];

    function add(at, answer) {
        const now = new Map(answer.methods.map((m) => [m.name, { done: m.done, failed: m.failed, wait: spread(m.wait), run: spread(m.run) }]));
        const methods = new Map();
        bounds = answer.bounds;
        for (const [name, m] of now) {
            const then = before?.now.get(name);
            const wait = before && since(m.wait, then?.wait), run = before && since(m.run, then?.run);
            if (wait && run) methods.set(name, { done: Math.max(0, m.done - (then?.done ?? 0)), failed: Math.max(0, m.failed - (then?.failed ?? 0)), wait, run });
        }
        steps.push({ at, seconds: before ? at - before.at : 0, methods });
        if (steps.length > KEPT) steps.shift();
        before = { at, now };
    }

    // Of one method, or of all that are told of.
    const sum = (methods, name, kind) => (name === null ? [...methods.values()] : [methods.get(name)]).reduce((all, m) => (m ? addTo(all, m[kind]) : all), new Map());

    /** Seconds, and per share as many figures; `name` null: all methods. */
    function series(name, kind) {
        const told = steps.map((step) => figures(sum(step.methods, name, kind), bounds));
        return { times: steps.map((step) => step.at), lines: SHARES.map(([share]) => told.map((one) => one[share])) };
    }

    /** Of the last minute: [{name, rate, failures, wait: {p50, p95, p99}, run}], rates a second. */
    function lately() {
        const window = steps.slice(-WINDOW), seconds = window.reduce((all, step) => all + step.seconds, 0);
        const names = new Set([...(before?.now.keys() ?? [])]);
        const total = (name, of) => window.reduce((all, step) => all + (step.methods.get(name)?.[of] ?? 0), 0);
        const counts = (name, kind) => window.reduce((all, step) => addTo(all, step.methods.get(name)?.[kind] ?? new Map()), new Map());
        return [...names].map((name) => ({
            name, rate: seconds > 0 ? total(name, 'done') / seconds : null, failures: seconds > 0 ? total(name, 'failed') / seconds : null,
            wait: figures(counts(name, 'wait'), bounds), run: figures(counts(name, 'run'), bounds),
        }));
    }

    return { add, series, lately, size: () => steps.length };
}
