/* Workers of the simulation.  Each offers methods on a connection of its own and takes requests.
 * It answers them late, with an error, twice, in part or not at all.  It closes its connection at
 * any time, and opens another one.  The checks are by workers.md and PROTOCOL.md:
 *
 * workers: a worker gets no more requests at a time than it has slots, none that is longer than it
 * reads, and none after the answer to its worker.quiet. */
#ifndef ERGON_SIM_WORKER_H
#define ERGON_SIM_WORKER_H

#include <stdbool.h>
#include <stdint.h>

void sim_workers_shape(void); /* how many, and what they are like: by the seed */
void sim_workers_spawn(void);
bool sim_workers_there(void);     /* the run has workers */
const char *sim_worker_any(void); /* a method that some of them offer */

/* From now on workers answer all requests, except for tasks that kill each worker. */
void sim_workers_calm(void);
void sim_workers_wake(void); /* the node has come up, or has gone */

#endif
