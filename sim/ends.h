/* ends: a task ends once, and its state then stays unless the task is retried; a task whose cancel
 * was answered with `cancelled` ends as cancelled, or as expired (tasks.md, "The promise").
 *
 * accounts: each submitted task has ended or is open, over restarts, in memory and in the store
 * (tasks.md, "Look into the store"). */
#ifndef ERGON_SIM_ENDS_H
#define ERGON_SIM_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct sim_link;
struct sim_task;

/* `mark`: the value of sim_end_mark() at the time of the request. */
void sim_saw_cancelled(const struct sim_task *t, uint32_t mark, struct span result);
void sim_saw_state(const struct sim_task *t, uint32_t mark, struct span result); /* of task.get */

/* Call while no client asks for anything.  Returns false if the node died meanwhile. */
bool sim_check_accounts(struct sim_link *l);

#endif
