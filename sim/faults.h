/* Injects faults at any moment, in some runs:
 *
 * - a connection is reset
 * - for a while no bytes arrive, on all connections or on one, in both directions or in one
 * - the wall clock is set
 * - the machine is suspended
 * - memory is short
 *
 * Deaths of the node and faults of the disk are in world.c. */
#ifndef ERGON_SIM_FAULTS_H
#define ERGON_SIM_FAULTS_H

void sim_faults_shape(void);
void sim_faults_spawn(void);
void sim_faults_calm(void); /* stops all faults */

#endif
