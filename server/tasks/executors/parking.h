/* Places: a task of a stepped executor that has parked, or takes turns, has one.
 *
 * The plan says how many there are, for one principal as for all. Beyond them there is a reserve of
 * an eighth (at least 64), for attempts of jobs, and for a principal that has fewer places, at all
 * executors together, than are left of the reserve here, and than half of the plan's. So a
 * principal that has taken all leaves half of the reserve to the next (account.h says why). A task
 * without a place is not begun. A task that has begun is refused none, since what it holds is held
 * already.
 *
 * Thread: any for the questions; the executor's to take and leave. */
#ifndef ERGON_TASKS_PARKING_H
#define ERGON_TASKS_PARKING_H

#include "server/tasks/executors/executor.h"

/* Is there one that is not of the reserve? */
static inline bool parking_free(const struct executor *e)
{
    return counter_read(&e->parked) + counter_read(&e->turning) < e->plan.parked;
}

/* Is there one for a task of this principal (NULL: nobody's), or for a job? */
bool parking_for(const struct executor *e, const struct tally *whose, bool job);

/* The reserve included. */
uint64_t parking_most(const struct executor *e);

/* The account of its principal counts the place of this task: once, until it has left.  A no-op
 * while the task has no tally. */
void parking_take(struct task *t);
void parking_leave(struct task *t);

#endif
