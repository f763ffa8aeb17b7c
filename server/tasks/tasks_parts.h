/* The insides of the task system, for the files of this folder. */
#ifndef ERGON_TASKS_TASKS_PARTS_H
#define ERGON_TASKS_TASKS_PARTS_H

#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/manager/manager.h"
#include "server/tasks/tasks.h"

enum { STOP_DRAIN = 1, STOP_DRAIN_KEPT = 2, STOP_CANCEL = 4 };
enum { STOP_DRAINS = STOP_DRAIN | STOP_DRAIN_KEPT };

struct tasks {
    struct tasks_plan plan;
    const struct ao_clock *clock;
    struct manager manager;
    struct home **homes; /* those of the loops, then the manager's */
    uint32_t home_count;
    struct executor **executors; /* by index in the plan */
    uint32_t blocking_count;
    bool started;

    /* What was asked of the whole: STOP_DRAINS, plus STOP_CANCEL for each tasks_cancel_all().
     * Release where it is asked, acquire where manager and homes look: what was set before is
     * seen. */
    _Atomic uint32_t stop_requests;
    void (*drained)(void *arg);
    void *drained_arg;
    void (*kept_drained)(void *arg);
    void *kept_drained_arg;
    /* Blocking executors whose handler waits for a nested call.  Each change is one read-modify-
     * write, so exactly one executor sees that it is the last (acquire and release). */
    _Atomic uint32_t waiting;
};

/* Any thread: running and waiting tasks of this kind may be flagged. */
void tasks_notify(struct tasks *tasks, enum ergon_kind kind);

/* Zeroed lanes, none of them open; NULL without memory.  Freed with free(). */
struct lane *tasks_new_lanes(uint32_t count);

/* After all threads have ended: frees a task that never came home; closes a lane, and frees what is
 * left inside. */
void tasks_free_leftover(struct task *t);
void tasks_close_lane(struct lane *l);

#endif
