/* kept: what lists and task.explain say before a death in quiet, they say after the next start
 * (tasks.md, "Look into the store"): crons, pauses of queues, tasks that have ended, and
 * semaphores that are still there: one goes with the last who holds it. */
#ifndef ERGON_SIM_LISTS_H
#define ERGON_SIM_LISTS_H

#include <stdbool.h>

struct sim_link;

/* Notes what the lists say.  False: the node died under it. */
bool sim_lists_note(struct sim_link *l);
/* Compares it with what they say now, once. */
bool sim_lists_compare(struct sim_link *l);
void sim_lists_forget(void);

#endif
