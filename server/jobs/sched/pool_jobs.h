/* The jobs of one pool (server/tasks/manager/pool.h) that are queued, or assigned and not known to
 * have begun; found by the pool's index.
 *
 * Thread: the jobs'.  A pool gets this when its first job is queued, and keeps it. */
#ifndef ERGON_JOBS_POOL_JOBS_H
#define ERGON_JOBS_POOL_JOBS_H

#include "server/jobs/sched/fair_queue.h"

struct pool_rest;

struct pool_jobs {
    struct fair_queue queue;
    struct job_list assigned;          /* their attempt is out, and not known to have begun */
    uint32_t assigned_at[FAIR_LEVELS]; /* so many of them, by level */
    bool full;                         /* its executors, as the manager last said */
    struct pool_rest *rest;            /* pool_rest.h; NULL: it has never lost a worker */
};

/* Of zeroes: none. */
struct pool_table {
    struct pool_jobs **pools; /* by index; NULL: not made yet */
    uint32_t room;
};

void pool_table_fini(struct pool_table *t);

/* Made if there is none: `ageing` as for fair_queue_init().  NULL without memory. */
struct pool_jobs *pool_table_get(struct pool_table *t, uint32_t index, ao_time ageing);

/* NULL: there is none. */
static inline struct pool_jobs *pool_table_find(const struct pool_table *t, uint32_t index)
{
    return index < t->room ? t->pools[index] : NULL;
}

/* The index of the pool that runs its jobs; POOL_NONE, which finds no pool: there is none. */
enum { POOL_NONE = UINT32_MAX - 1 };
uint32_t queue_pool(const struct job_queue *q);

/* That of the job's pool; NULL: there is none. */
struct pool_jobs *pool_table_of(const struct pool_table *t, const struct job *job);

#endif
