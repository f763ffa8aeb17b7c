/* Runs a seed: a node that lives several times, and clients. */
#ifndef ERGON_SIM_WORLD_H
#define ERGON_SIM_WORLD_H

#include <stdint.h>

/* Call once in a process, which a broken promise ends; see trace.h. */
void sim_world_run(uint64_t seed);

#endif
