/* The nodes of a cluster: each is started, dies by faults, and is started again, as a service
 * manager does it; and the network between them.
 *
 * Faults, in some runs each: kills, power cuts, stops in order, drains by people, processes that
 * stand still, partitions in one direction or both, connections that are reset, clocks that differ
 * and leap, and those of the database (sim/pg). */
#ifndef ERGON_SIM_CLUSTER_NODES_H
#define ERGON_SIM_CLUSTER_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct sim_link;

void sim_nodes_shape(void);
void sim_nodes_spawn(void);
void sim_nodes_calm(void); /* no more faults; all is whole again, and all nodes run */
uint32_t sim_nodes_count(void);
/* The number of the owner, as the database has it. */
uint64_t sim_nodes_epoch(void);
/* Take-overs, and ends of processes, until now. */
uint64_t sim_nodes_changes(void);
bool sim_nodes_have_store(void);
/* A connection to any node that is up, and its number; NULL: none is. */
struct sim_link *sim_nodes_connect(uint32_t *node);
/* The wall clock of this node leaps back, and the others' forward, by up to 8 s. */
void sim_nodes_leap(uint32_t node);
/* In order; `hurries`: it is started again soon. */
void sim_nodes_ask_to_stop(uint32_t node, bool hurries);
/* Any fiber: the process of this node dies soon.  A handler calls it. */
void sim_nodes_kill(uint32_t node);
bool sim_nodes_all_up(void);
/* Stops them all in order; at the end of the run. */
void sim_nodes_stop(void);

#endif
