/* Calls of actors by turns of handlers of this process: each comes as a task (turn_call_pack()),
 * becomes
 * an operation of a channel of their own, and its answer is the task's outcome.
 *
 * Thread: the jobs'.  A task belongs to this room from module_calls_take() until its operation is
 * answered. */
#ifndef ERGON_JOBS_MODULE_CALLS_H
#define ERGON_JOBS_MODULE_CALLS_H

#include <stdbool.h>

struct actors;
struct task;

/* Set-up: the channel, which is freed with the others.  False without memory. */
bool module_calls_open(struct actors *actors);
/* The source's `call` (job_source.h). */
void module_calls_take(struct actors *actors, struct task *t);

#endif
