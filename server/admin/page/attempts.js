// A task's history, told by attempts.  Pure.

const ENDS = { attempt_failed: 'failed', timed_out: 'timed out', interrupted: 'interrupted', fenced: 'fenced', done: 'done', failed: 'failed', cancelled: 'cancelled', expired: 'expired', dead: 'dead' };
const WITHIN = ['started', 'progress', 'partial', ...Object.keys(ENDS)];

/** [{attempt, began, ended, outcome, text}], the last first.  The history is bounded, so of an old attempt the begin may be unknown (null), and attempts before
 *  it are missing; the last is always there. */
export function attemptsOf(task) {
    const attempts = new Map();
    const of = (n) => attempts.get(n) ?? attempts.set(n, { attempt: n, began: null, ended: null, outcome: null, text: null }).get(n);
    for (const event of task.history ?? []) {
        if (!event.attempt || !WITHIN.includes(event.event)) continue;
        const attempt = of(event.attempt);
        if (event.event === 'started') attempt.began = event.at;
        else if (event.event in ENDS && attempt.ended === null) Object.assign(attempt, { ended: event.at, outcome: ENDS[event.event], text: event.text });
    }
    if (task.attempt > 0) {
        const last = of(task.attempt);
        last.began ??= task.started;
        last.ended ??= task.ended;
        if (task.ended !== null) last.outcome ??= task.state;
    }
    return [...attempts.values()].sort((a, b) => b.attempt - a.attempt);
}
