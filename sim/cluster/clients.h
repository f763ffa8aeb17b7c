/* Clients of a simulated cluster.  Each talks to any node, and to another one once its connection
 * has ended.  They submit tasks, ask for them, wait for them and cancel them; some hold semaphores;
 * one keeps a cron, one follows the feed.
 *
 * fences: each grant has a number of its own, which grows.
 * permits: no more clients hold a semaphore than it has permits. */
#ifndef ERGON_SIM_CLUSTER_CLIENTS_H
#define ERGON_SIM_CLUSTER_CLIENTS_H

#include <stdbool.h>

void sim_cluster_clients_shape(void);
void sim_cluster_clients_spawn(void);
void sim_cluster_clients_calm(void); /* they send no more */
bool sim_cluster_clients_idle(void);
/* The trace gets what those asked last that are not idle. */
void sim_cluster_clients_tell_open(void);

#endif
