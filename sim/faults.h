/* Faults that come at any moment, in some runs: connections that are reset, a network that for a
 * while carries nothing, of all or of one, both ways or one way, a wall clock that somebody sets, a
 * machine that was suspended, memory that is short.  (Deaths and the disk's faults come from
 * world.c.) */
#ifndef ERGON_SIM_FAULTS_H
#define ERGON_SIM_FAULTS_H

void sim_faults_shape(void);
void sim_faults_spawn(void);
void sim_faults_calm(void); /* no more of them */

#endif
