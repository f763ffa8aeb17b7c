/* Workers of a simulated cluster: each offers work.job at any node, and at another one once its
 * connection has ended.  They answer late, with an error or not at all, and tell jobs.c when an
 * attempt begins. */
#ifndef ERGON_SIM_CLUSTER_WORKERS_H
#define ERGON_SIM_CLUSTER_WORKERS_H

void sim_cluster_workers_shape(void);
void sim_cluster_workers_spawn(void);
void sim_cluster_workers_calm(void); /* they answer all, and soon */

#endif
