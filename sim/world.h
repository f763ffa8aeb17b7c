/* A run: a node that lives several times, and clients. */
#ifndef ERGON_SIM_WORLD_H
#define ERGON_SIM_WORLD_H

#include <stdint.h>

/* Once in a process.  A broken promise ends it; see trace.h. */
void sim_world_run(uint64_t seed);

#endif
