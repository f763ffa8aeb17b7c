/* What follows from what has happened to jobs, in one place and one order.
 *
 * The folders record effects (core/transitions.h).  After each piece of work on the jobs' thread
 * (an operation, an attempt that returned, a timer, a batch of writes that came back)
 * effects_apply() applies them, before the next piece begins.  For each job, once:
 *
 *   1. its new events, and then its row, go to the store; its first row goes before them;
 *   2. the operations that wait for it are answered: submissions, cancels, waits, watches;
 *   3. its dependants are released, and it is kept for its time;
 *   4. its timer is set; or it is freed.
 *
 * Before each job, those that were granted what another gave back are queued.  At last the rates
 * that are to begin something are written to the store, and the readers of the feed are woken.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_EFFECTS_H
#define ERGON_JOBS_EFFECTS_H

#include <ergon/ao.h>

struct jobs;

/* Applies all effects, and those that come of them.  Not from within itself. */
void effects_apply(struct jobs *jobs);

/* The timer of a job: does what is due, and what follows from it. */
extern const struct ao_class job_timer_class;

#endif
