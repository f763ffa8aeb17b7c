/* Runs a seed: several nodes of a cluster on a model of PostgreSQL, clients and workers. */
#ifndef ERGON_SIM_CLUSTER_WORLD_H
#define ERGON_SIM_CLUSTER_WORLD_H

#include <stdint.h>

/* Call once in a process, which a broken promise ends; see trace.h. */
void sim_cluster_run(uint64_t seed);

#endif
