// Series of the last ten minutes: those that the server has kept (server.figures), then each event's figures, and of counters how fast they grow.  Pure.

import { now } from './format.js';

const KEPT = 600;

const sum = (list, of) => (list ?? []).reduce((all, one) => all + (of(one) || 0), 0);

// name (as in server.figures): [from an event's data, is it a counter]
const FIGURES = {
    done: [(d) => d.info?.tasks?.done, true],
    failed: [(d) => d.info?.tasks?.failed, true],
    refused: [(d) => (d.info ? d.info.tasks.refused + d.info.memory.refused : undefined), true],
    submitted: [(d) => d.info?.kept?.submitted, true],
    kept_done: [(d) => d.queues && sum(d.queues, (q) => q.done), true],
    kept_failed: [(d) => d.queues && sum(d.queues, (q) => q.failed), true],
    retries: [(d) => d.info?.kept?.retries, true],
    queued: [(d) => d.info?.kept?.states?.queued, false],
    waiting: [(d) => (d.info ? d.info.kept.states.waiting + d.info.kept.states.delayed : undefined), false],
    all_waiting: [(d) => (d.info ? d.info.kept.states.queued + d.info.kept.states.waiting + d.info.kept.states.delayed : undefined), false],
    running: [(d) => (d.info ? d.info.kept.states.assigned + d.info.kept.states.running + d.info.kept.states.parked : undefined), false],
    calls_queued: [(d) => d.topology?.manager?.queued, false],
    connections: [(d) => d.info?.connections?.open, false],
    messages: [(d) => d.info?.connections?.messages, true],
    bytes_in: [(d) => d.info?.connections?.bytes_in, true],
    bytes_out: [(d) => d.info?.connections?.bytes_out, true],
    memory: [(d) => d.info?.memory?.bytes, false],
    kept_bytes: [(d) => d.info?.kept?.bytes, false],
    commits: [(d) => d.info?.store?.commits, true],
    commit_ms: [(d) => (d.info?.store ? d.info.store.commit_us / 1000 : undefined), false],
    workers_out: [(d) => d.info?.workers?.out, false],
    oldest_s: [(d) => d.queues && Math.max(0, ...d.queues.map((q) => (q.queued && q.oldest ? (now() - q.oldest) / 1000 : 0))), false],
};

/** A ring of samples; `times` are seconds of one clock, `values[name]` as long, with null where nothing is known. */
export function samplesOf() {
    const times = [], values = {}, handlers = new Map(), executors = new Map();
    let before = null;
    for (const name of Object.keys(FIGURES)) values[name] = [];

    function push(list, value) {
        list.push(Number.isFinite(value) ? value : null);
        if (list.length > KEPT) list.shift();
    }

    // How fast a counter grew since the last event; null where the server was started anew.
    function speed(now, then, seconds) {
        return now >= then && seconds > 0 ? (now - then) / seconds : null;
    }

    function add(at, data) {
        const seconds = before ? at - before.at : 0;
        const same = before && before.data.info?.pid === data.info?.pid && (data.info?.uptime_ms ?? 0) >= (before.data.info?.uptime_ms ?? 0);
        push(times, at);
        for (const [name, [of, isCounter]] of Object.entries(FIGURES)) {
            const value = of(data);
            push(values[name], isCounter ? (same ? speed(value, of(before.data), seconds) : null) : value);
        }
        per(handlers, data.info?.handlers, same && before.data.info?.handlers, (now, then) =>
            (now.steps > then.steps ? Math.max(0, now.busy_ms - then.busy_ms) / (now.steps - then.steps) : null));
        per(executors, data.topology?.executors, same && before.data.topology?.executors, (now, then) =>
            (seconds > 0 ? Math.min(100, Math.max(0, (now.busy_ms - then.busy_ms) / seconds / 10)) : null));
        before = { at, data };
    }

    // Series by name, each as long as `times`.
    function per(series, list, old, of) {
        const then = new Map((old || []).map((one) => [one.name, one]));
        for (const one of list ?? []) if (!series.has(one.name) && series.size < 64) series.set(one.name, Array(times.length - 1).fill(null));
        const now = new Map((list ?? []).map((one) => [one.name, one]));
        for (const [name, line] of series)
            push(line, now.has(name) && then.has(name) ? of(now.get(name), then.get(name)) : null);
    }

    /** What server.figures has answered, whose last sample is of the time `last`, before all that was added. */
    function fill(last, answer) {
        const step = answer.step_ms / 1000, room = KEPT - times.length, before = times.length ? times[0] - step / 2 : Infinity;
        const kept = answer.values.done.map((_, i, all) => last - (all.length - 1 - i) * step), end = kept.filter((t) => t < before).length, begin = Math.max(0, end - room);
        const part = (list) => (list ? list.slice(begin, end).map((v) => v ?? null) : Array(end - begin).fill(null));
        const added = times.length;
        times.unshift(...kept.slice(begin, end));
        for (const name of Object.keys(FIGURES)) values[name].unshift(...part(answer.values[name]));
        for (const [series, lists] of [[handlers, answer.handlers], [executors, answer.executors]]) {
            for (const name of Object.keys(lists ?? {})) if (!series.has(name) && series.size < 64) series.set(name, Array(added).fill(null));
            for (const [name, line] of series) line.unshift(...part(lists?.[name]));
        }
    }

    return { times, values, handlers, executors, add, fill, last: (name) => values[name].at(-1) ?? null };
}
