/* Memory that is short, in some runs: an allocation of the server or of its SQLite fails now and
 * then, and with it those of the next few ms; or one in a start.  What sim/ itself allocates never
 * fails, nor what other libraries do. */
#ifndef ERGON_SIM_MEMORY_H
#define ERGON_SIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

void sim_memory_shape(void);
/* On: nothing fails, until it is off as often as it was on. */
void sim_memory_ample(bool on);

/* The node begins to start: one allocation fails, or none, until it serves. */
void sim_memory_starts(void);
void sim_memory_serves(void);

/* On a fiber of the world: whoever was refused without memory comes again a little later. */
void sim_memory_wait(void);
bool sim_memory_failed_within(uint64_t ns); /* up to now, an allocation has */
int64_t sim_memory_live(void);              /* blocks of the server */

#endif
