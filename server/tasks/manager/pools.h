/* The pools of a manager, by index.
 *
 * Thread: the manager's. */
#ifndef ERGON_TASKS_POOLS_H
#define ERGON_TASKS_POOLS_H

#include "server/tasks/manager/manager.h"

/* One more, the manager's, with a group of its own for at most so many executors; 0: whoever knows
 * them gives it a group.  NULL without memory. */
struct pool *pools_add(struct manager *m, uint32_t most);

#endif
