/* The task manager: owner of the common queue, it gives each task to an executor.
 *
 * One active object; where it lives is topology.  It never blocks and does no I/O.
 *
 * Thread: the manager's activator, for all of it but set-up.  What others may ask of it is in
 * manager_inbox.h. */
#ifndef ERGON_TASKS_MANAGER_H
#define ERGON_TASKS_MANAGER_H

#include "server/tasks/calls/home.h"
#include "server/tasks/manager/pool.h"
#include "server/tasks/shared.h"

struct worker_roster;
struct worker_system;

struct manager {
    struct tasks_shared *shared; /* borrowed */
    struct activator *activator;
    struct home **homes; /* by index; borrowed.  The manager's own is the last */
    uint32_t home_count;
    struct ao ao;
    struct ao
        max_wait;     /* asks when an executor has been awaited for long enough; PLACEMENT_WEIGHT */
    struct ao stalls; /* looks at stalled executors: stalls.h */
    bool stalls_watched;  /* it will look */
    struct home home;     /* of jobs' attempts, and of the tasks of outside threads */
    struct lane **inlets; /* from the homes of loops */
    uint32_t inlet_count;
    struct lane *out;    /* by index of home: tasks that need not run */
    struct pool **pools; /* by index; its own */
    uint32_t pool_count, pool_room;
    struct pool_list ready;   /* pools that have something to do: a step looks at each once */
    struct pool_list in_turn; /* such pools that want the same executors: a step serves them in
                               * turn */
    uint32_t joined;          /* so many pools share the local executors of another */
    uint32_t stop_requests;   /* that it has seen to */
    bool sweeps;              /* queues of pools are swept */

    const struct worker_system *workers; /* that of the plan; NULL: there are none */
    struct worker_roster *roster;        /* its own */

    /* Of jobs. */
    bool source_woken;               /* the source said so since the last look */
    bool jobs_stopped;               /* nothing is taken from the source any more */
    uint32_t attempts_out;           /* given and not returned */
    bool jobs_drained_told;          /* that none is out any more */
    void (*jobs_drained)(void *arg); /* set before STOP_DRAIN_JOBS */
    void *jobs_drained_arg;
};

/* Set-up, in two steps: first the object, so that the homes' lanes can lead here; then, once
 * there are homes and executors, the rest.  0, or -1 without memory: then too manager_fini() must
 * follow. */
int manager_init(struct manager *m, struct tasks_shared *shared);
int manager_connect(struct manager *m, struct home **homes, uint32_t count);
void manager_fini(struct manager *m); /* tasks that are left in its queues are freed */

/* --- For pool classes --- */

/* The manager looks again at this moment, at the latest; AO_NEVER: it need not. */
static inline void manager_look_at(struct manager *m, ao_time until)
{
    if (until == AO_NEVER)
        return;
    ao_deactivate(&m->max_wait);
    ao_sleep_until(&m->max_wait, until);
}

/* A task of a queue ends unwanted or failed: it is counted out, and goes home. */
void manager_drop(struct manager *m, struct task *t);
/* One that is counted out goes home with its outcome. */
void manager_send_home(struct manager *m, struct task *t);

/* The task belongs to the executor from here on. */
static inline void manager_hand_over(struct executor *e, struct task *t)
{
    uint32_t given = atomic_load_explicit(&e->given, memory_order_relaxed) + 1;
    atomic_store_explicit(&e->given, given, memory_order_relaxed);
    t->executor = e;
    task_pass(t, TASK_OF_MANAGER, TASK_OF_EXECUTOR);
    lane_push(e->in, &t->item);
}

#endif
