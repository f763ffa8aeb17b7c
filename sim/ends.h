/* ends: a task ends once, and as what it has ended it stays, unless it is retried; one whose cancel
 * was answered with `cancelled` ends as cancelled, or as expired (tasks.md, "The promise").
 *
 * accounts: what was submitted has ended or is open, over restarts, in memory and in the store
 * (tasks.md, "Look into the store"). */
#ifndef ERGON_SIM_ENDS_H
#define ERGON_SIM_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct sim_link;
struct sim_task;

/* `mark`: sim_end_mark() as it was asked. */
void sim_saw_cancelled(const struct sim_task *t, uint32_t mark, struct span result);
void sim_saw_state(const struct sim_task *t, uint32_t mark, struct span result); /* of task.get */

/* While nobody asks for anything.  False: the node died under it. */
bool sim_check_accounts(struct sim_link *l);

#endif
