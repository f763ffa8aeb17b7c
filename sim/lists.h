/* kept: some answers are the same before a death in quiet and after the next start (tasks.md,
 * "Look into the store").
 *
 * The answers are noted once no client asks for anything, before the server dies.  They are
 * compared once, after the next start.  Compared are:
 *
 *   cron.list      tenant, schedule, zone, method, params, options, and whether the cron is paused
 *   queue.list     whether the queue is paused, and whether it drains
 *   sem.list       tenant, permits and durability of each semaphore
 *   task.explain   state, reason, text and last error of each durable task whose end was seen
 *
 * All other members of these answers may change, and lists may have new items.  A queue that is
 * not paused may be missing after the start, as may a semaphore that is not durable.  A task may
 * be missing if sim_may_be_forgotten() says so. */
#ifndef ERGON_SIM_LISTS_H
#define ERGON_SIM_LISTS_H

#include <stdbool.h>

struct sim_link;

/* Notes the answers.  Returns false if the node died meanwhile. */
bool sim_lists_note(struct sim_link *l);
/* Compares the noted answers with those of now, and forgets them.  Returns false if the node died
 * meanwhile. */
bool sim_lists_compare(struct sim_link *l);
/* Forgets the noted answers: requests since then may have changed them. */
void sim_lists_forget(void);

#endif
