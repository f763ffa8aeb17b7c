/* What runs by seed and by script have in common.  Call it on a fiber of the world. */
#ifndef ERGON_SIM_LIVES_H
#define ERGON_SIM_LIVES_H

#include <stdint.h>

#include "sim/node.h"
#include "sim/settings.h"

void sim_configure(struct sim_flags *f); /* configures the server, once; adds the store's flags */

/* Draw the shape of workers, holders, the follower of the feed and faults; spawn their fibers. */
void sim_others_shape(void);
void sim_others_spawn(void);
void sim_others_wake(void); /* the node has come up, or has gone */

/* Starts the node, and compares what it answers of all tasks with what it answered before.  `cut`:
 * the power goes at that call of the disk; 0: never. */
void sim_begin_life(uint64_t cut);
void sim_note_all(void); /* notes the answers of all tasks, while no client asks for anything */
void sim_end_life(enum sim_end how);
void sim_end_in_calm(void); /* ends the last life */

#endif
