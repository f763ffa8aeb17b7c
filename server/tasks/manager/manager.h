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
#include "server/workers/member.h"

struct worker_pool;
TAILQ_HEAD(worker_pool_queue, worker_pool);

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
    struct pool_list stirring; /* those of local executors that have something to do */
    uint32_t joined;           /* so many pools have workers beside their local executors */
    bool called;               /* one of them was called by a group since it was looked at */
    uint32_t stop_requests;    /* that it has seen to */
    bool sweeps;               /* queues of pools are swept */

    /* Of workers: worker_group.h, worker_update.h. */
    struct worker_pool_queue waiting; /* pools of workers that wait for room; they need not stir */
    struct member_list members;       /* all that have joined */
    uint32_t member_count;
    struct mpsc_item *news;                   /* taken from the inbox, not looked at yet */
    struct mpsc_item *updates, *updates_last; /* looked at: they join or leave in turn */
    uint32_t workers;         /* that have joined since the start: the number of the last */
    uint64_t turns;           /* tasks that workers were given, and workers that joined */
    struct pool_list serving; /* of workers, that have something to do: they take turns */
    bool *loops_away;         /* by index, as it has seen them last */

    /* Of jobs. */
    bool source_woken;               /* the source said so since the last look */
    bool jobs_stopped;               /* nothing is taken from the source any more */
    uint32_t attempts_out;           /* given and not returned */
    bool jobs_drained_told;          /* that none is out any more */
    void (*jobs_drained)(void *arg); /* set before STOP_DRAIN_JOBS */
    void *jobs_drained_arg;
};

/* Set-up, in two steps: first the object, so that the homes' lanes can lead here; then, once homes
 * and executors stand, the rest.  0, or -1 without memory: then too manager_fini() must follow. */
int manager_init(struct manager *m, struct tasks_shared *shared);
int manager_connect(struct manager *m, struct home **homes, uint32_t count);
void manager_fini(struct manager *m); /* tasks that are left in its queues are freed */

/* The pool has something to do: the manager's next step looks at it. */
static inline void manager_stir(struct manager *m, struct pool *p)
{
    if (p->stirs)
        return;
    p->stirs = true;
    STAILQ_INSERT_TAIL(p->workers && !p->local ? &m->serving : &m->stirring, p, next);
}

#endif
