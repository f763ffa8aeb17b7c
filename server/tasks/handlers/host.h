/* The table of functions that modules are given, and what it does for a task. */
#ifndef ERGON_TASKS_HOST_H
#define ERGON_TASKS_HOST_H

#include "server/tasks/task.h"

const struct ergon_host *host_table(void); /* constant once it was asked for the first time */

/* Each fills its part of the table. */
void host_fill_params(struct ergon_host *host);
void host_fill_results(struct ergon_host *host);
void host_fill_calls(struct ergon_host *host);
void host_fill_kept(struct ergon_host *host);
void host_fill_primitives(struct ergon_host *host);

/* The handler of a stepped task is done: its nested calls are abandoned. */
void host_drop_nested(struct task *t);

/* Copies an outcome that is about to go into `*block`, whose old content is freed; `out` points
 * into it.  A result's own block is taken over.  Without memory `out` says so. */
void outcome_keep(struct outcome *outcome, void **block, struct ergon_outcome *out);

#endif
