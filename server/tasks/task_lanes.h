/* Lanes in which tasks travel: made in a row, one for each who takes, and taken apart with what is
 * left inside.
 *
 * Thread: the one that sets up and takes apart, while no other thread touches the lanes. */
#ifndef ERGON_TASKS_TASK_LANES_H
#define ERGON_TASKS_TASK_LANES_H

#include "server/runtime/threads/lane.h"

/* Zeroed lanes, none of them open: lane_init() opens one.  The caller's; NULL without memory. */
struct lane *task_lanes_new(uint32_t count);

/* Frees the tasks inside.  Of a lane that is not open a no-op. */
void task_lane_close(struct lane *l);

void task_lanes_free(struct lane *lanes, uint32_t count); /* closes them; NULL: a no-op */

#endif
