/* Weights: what the manager keeps of each executor from pass to pass, so that each gets its part of
 * all tasks, and not only of those that are outstanding at a time.
 *
 * When the next task belongs to an executor that is full, it waits for that one: no other runs
 * ahead of its share.  But an executor that has not ended a task for twice its mean time and 100 ms
 * is stuck.  The others go on without it, and what they are given meanwhile counts as its own, too,
 * so it does not return to a debt.  Nested calls wait for no executor, since somebody's room waits
 * for them.
 *
 * Thread: the manager's.  The pool is borrowed, and its policy is PLACEMENT_WEIGHT. */
#ifndef ERGON_TASKS_WEIGHTS_H
#define ERGON_TASKS_WEIGHTS_H

#include "server/tasks/manager/manager.h"

struct weight {
    uint64_t history; /* tasks that it was given, or might have been when it took none */
    uint32_t left;    /* its executor's counter, at the last change */
    ao_time since;    /* when `left` last changed, or the executor was last seen not full */
    bool known;       /* it was seen before: spares come and go, and begin at the level of all */
};

/* At the begin of a pass: into the snapshots, with their own bounds. */
void weights_look(struct pool *p, ao_time now);

/* Is the share of this executor worth waiting for, if it is full? */
bool weights_await(const struct pool *p, uint32_t i, ao_time now);

void weights_note(struct pool *p, int chosen); /* one more for it */

/* When the first of those that are full and awaited has been for long enough; AO_NEVER: none is. */
ao_time weights_max_wait(const struct pool *p);

#endif
