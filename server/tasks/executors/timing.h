/* What an executor learns of the times of one task.
 *
 * Thread: the executor's. */
#ifndef ERGON_TASKS_TIMING_H
#define ERGON_TASKS_TIMING_H

#include "server/tasks/executors/executor.h"

/* One that came by the lane begins now: `made` is `busy` from here on.  Of an attempt of a job
 * nothing is known. */
void timing_waited(const struct executor *e, struct times_slot *times, struct task *t);

/* One whose service was measured has ended: the mean times of executor and method. */
void timing_served(struct executor *e, const struct task *t);

#endif
