/* Workers: each offers methods on a connection of its own, takes requests, and answers them late,
 * with an error, twice, in part or not at all; it leaves in the middle, and comes again.  What it
 * is given is held against what workers.md and PROTOCOL.md promise to workers:
 *
 * workers: no more requests at a time than it has slots, none that is longer than it reads, and
 * nothing once its worker.quiet has been answered. */
#ifndef ERGON_SIM_WORKER_H
#define ERGON_SIM_WORKER_H

#include <stdbool.h>
#include <stdint.h>

void sim_workers_shape(void); /* how many, and what they are like: by the seed */
void sim_workers_spawn(void);
bool sim_workers_there(void);     /* the run has some */
const char *sim_worker_any(void); /* a method that some of them offer */

/* From now on they answer all that they are given, but for tasks that kill whoever takes them. */
void sim_workers_calm(void);
void sim_workers_wake(void); /* the node has come up, or has gone */

#endif
