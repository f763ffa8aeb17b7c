/* The inside of the task system, for the files that see all of it.
 *
 * Thread: the one that sets up and takes apart; each part says which thread may use it meanwhile.
 * The tasks own their homes and executors. */
#ifndef ERGON_TASKS_TASKS_PARTS_H
#define ERGON_TASKS_TASKS_PARTS_H

#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/spare.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/manager/manager.h"

struct dev_checks;

struct tasks {
    struct tasks_shared shared;
    struct manager manager;
    struct home **homes; /* those of the loops, then the manager's */
    uint32_t home_count;
    struct executor **executors;    /* by index in the plan */
    struct executor **worker_loops; /* by index of the loop */
    struct spares spares;
    struct dev_checks *dev; /* NULL: not wanted */
};

#endif
