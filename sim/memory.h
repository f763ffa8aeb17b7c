/* Makes memory short, in some runs.  Now and then an allocation of the server or of its SQLite
 * fails, as do all allocations of the next few ms; or a single one fails during a start.  After ten
 * minutes of a run there is memory: a cluster whose every take-over lacked some would never work.
 * Allocations of sim/ itself and of other libraries never fail. */
#ifndef ERGON_SIM_MEMORY_H
#define ERGON_SIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/schedule.h"

void sim_memory_shape(void);
/* On: no allocation fails, until the function was called as often with off. */
void sim_memory_ample(bool on);

/* Call when the node begins to start, and when it serves.  In between at most one allocation
 * fails. */
void sim_memory_starts(void);
void sim_memory_serves(void);

/* On a fiber of the world: sleeps a little if memory is short, before the caller connects again. */
void sim_memory_wait(void);
bool sim_memory_failed_within(uint64_t ns); /* an allocation failed in the last `ns` */
/* Number of the server's blocks; of several nodes, those that belong to the one whose fiber asks.
 */
int64_t sim_memory_live(void);

/* Call before the first start of several nodes: a block belongs to the node whose fiber allocates
 * it, and that of the world to the node that sim_memory_for() named last. */
void sim_memory_apart(void);
void sim_memory_for(enum sim_owner node);

#endif
