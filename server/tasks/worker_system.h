/* Workers, as the task system sees them: executors in other processes.  The room that has them
 * (server/workers/) supplies these functions, and a plan names them.
 *
 * Thread: set-up for what makes and frees; else the manager's. */
#ifndef ERGON_TASKS_WORKER_SYSTEM_H
#define ERGON_TASKS_WORKER_SYSTEM_H

#include "server/tasks/job_source.h"

struct executor;
struct home;
struct manager;
struct pool;
struct tasks_shared;

struct worker_system {
    /* The executor by which tasks go to the workers of this loop.  It is first in its memory, which
     * the caller frees after `fini` of its class.  NULL without memory. */
    struct executor *(*loop_new)(struct tasks_shared *shared, uint32_t loop, struct home **homes);
    /* What the manager keeps of workers is made, and freed: `roster`.  0, or -1 without memory. */
    int (*open)(struct manager *m);
    void (*close)(struct manager *m);
    /* A pool for the handler of `method`, which workers may offer, too: it shares the executors of
     * `local`.  NULL without memory. */
    struct pool *(*join)(struct manager *m, struct method *method, struct pool *local);
    /* The same for attempts of jobs alone; of a method whose attempts run elsewhere, without these
     * executors. */
    struct pool *(*spread)(struct manager *m, struct method *method, struct pool *local);
    /* A worker has named this method, which is new: it gets its pool.  For registry_on_intern(). */
    bool (*method_made)(void *manager, struct method *method);

    /* In each step of the manager, in this order. */
    /* Takes what workers have reported since the last step.  False: some is left for the next. */
    bool (*take)(struct manager *m);
    /* Pools that are in line for workers are to be listed, since they will be swept. */
    void (*sweep)(struct manager *m);
    /* What could be given was given.  False: the manager has to look again at once. */
    bool (*rest)(struct manager *m);

    /* For people: the workers that offer what this pool runs, at most `most`; returns how many
     * there are. */
    uint32_t (*offering)(const struct manager *m, const struct pool *p, struct source_worker *out,
                         uint32_t most);
};

#endif
