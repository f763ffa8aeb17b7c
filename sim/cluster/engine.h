/* Faults of the database that the nodes of a cluster share, in some runs each: connections break or
 * carry nothing in one direction or both; statements fail for reasons that pass; waits for the
 * standby are cancelled; standbys lag; the primary dies, stands still, or is cut off from its
 * standbys, and starts again, or a standby takes its place.  Some wait for what the nodes do:
 *
 *   - batches of the owner arrive in the middle of another node's take-over, or after the owner has
 *     settled their outcome;
 *   - the owner, perhaps with the primary, is cut off until another node has owned for a while, and
 *     wall clocks leap meanwhile;
 *   - owners hand over while the wall clocks stand still.
 *
 * A standby is promoted only while both run, and it is the one that has most: so what was
 * acknowledged is there (cluster.md says which may be promoted). */
#ifndef ERGON_SIM_CLUSTER_ENGINE_H
#define ERGON_SIM_CLUSTER_ENGINE_H

#include <stdbool.h>

void sim_engine_shape(void);
void sim_engine_spawn(void);
void sim_engine_calm(void); /* no fault begins from now on; those that have begun end in a minute */
bool sim_engine_rests(void); /* and they have ended */
bool sim_engine_waits(void); /* a fault that waits for another owner is under way */

#endif
