/* Runs a seed: a node that lives several times, and clients. */
#ifndef ERGON_SIM_WORLD_H
#define ERGON_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

/* From now on the store of a seed is the model of PostgreSQL, and no file. */
void sim_world_on_postgres(void);
bool sim_world_is_on_postgres(void);
/* Call once in a process, which a broken promise ends; see trace.h. */
void sim_world_run(uint64_t seed);

#endif
