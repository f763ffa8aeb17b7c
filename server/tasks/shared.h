/* What the parts of one task system share: settings, the pools, and what any thread may
 * ask of the manager.
 *
 * It lies in struct tasks, which outlives manager, executors and homes; each of them has a pointer
 * to it.  Thread: any; what is written after the start says how. */
#ifndef ERGON_TASKS_SHARED_H
#define ERGON_TASKS_SHARED_H

#include "server/tasks/executors/executor.h"
#include "server/tasks/manager/manager_inbox.h"
#include "server/tasks/manager/pool.h"
#include "server/tasks/tasks.h"

struct tasks_shared {
    /* Read-only once started. */
    struct tasks_plan plan;
    const struct ao_clock *clock;
    uint32_t method_count;    /* of modules: those that come later are offered by workers */
    struct job_source source; /* valid with `has_source` */
    bool has_source;
    struct executor_group worker_loops; /* one a loop; notified of flagged tasks of workers */
    struct pool *local[POOLS_LOCAL];    /* of the executors of the plan; the manager's */
    uint32_t spares;                    /* the last of the blocking ones (executors/spare.h) */
    struct ao_port *port; /* of the manager's home, where blocking handlers' semaphores live */
    void (*crowded)(void *arg); /* tasks_on_crowd(); NULL: nobody starts spares at once */
    void *crowded_arg;

    struct manager_inbox inbox;
    /* So many of the blocking group may be at work: the manager looks no further.  Orders nothing
     * (relaxed): a manager that waits for room is notified when it grows (extend() of spare.c). */
    _Atomic uint32_t blocking_reach;
    /* So many of those take the tasks of any principal. The spares behind them take one task of a
     * principal that holds no executor. Orders nothing (relaxed), as above. */
    _Atomic uint32_t blocking_common;
    /* A principal that holds no blocking executor has waited for one for long; a spare for such
     * principals was given a task since the last look. Order nothing (relaxed): the thread that
     * starts spares looks again, and is called again. */
    _Atomic bool blocking_crowded, crowd_served;
    /* Blocking executors whose handler waits (blocking.h), and spares at rest: those that take
     * nothing.  Each change is one read-modify-
     * write, so exactly one executor sees that it is the last (acquire and release). */
    _Atomic uint32_t waiting;
};

/* How many homes there are: one a loop, and the manager's, which is the last. */
static inline uint32_t shared_homes(const struct tasks_shared *s)
{
    return s->plan.loop_count + 1;
}

/* The one for what runs so. */
static inline struct pool *local_pool(const struct tasks_shared *s, enum ergon_kind kind)
{
    return s->local[kind == ERGON_STEPPED ? POOL_STEPPED : POOL_BLOCKING];
}

#endif
