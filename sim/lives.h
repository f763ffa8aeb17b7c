/* What runs by seed and by script have in common.  On a fiber of the world. */
#ifndef ERGON_SIM_LIVES_H
#define ERGON_SIM_LIVES_H

#include <stdint.h>

#include "sim/node.h"
#include "sim/settings.h"

void sim_configure(struct sim_flags *f); /* the server, once; adds the store to the flags */

/* Workers, holders, the feed's follower and faults: what they are like, and their fibers. */
void sim_others_shape(void);
void sim_others_spawn(void);
void sim_others_wake(void); /* the node has come up, or has gone */

/* Starts the node, with a power cut at that call of the disk (0: none) if one comes so far, and
 * compares what the node answers of all tasks with what it answered before. */
void sim_begin_life(uint64_t cut);
void sim_note_all(void); /* what is told of all tasks now, while nobody asks for anything */
void sim_end_life(enum sim_end how);
void sim_end_in_calm(void); /* the last */

#endif
