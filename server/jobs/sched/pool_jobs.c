#include "server/jobs/sched/pool_jobs.h"

#include "base/grow.h"
#include "server/jobs/core/names.h"
#include "server/tasks/manager/pool.h"

void pool_table_fini(struct pool_table *t)
{
    for (uint32_t i = 0; i < t->room; i++)
        free(t->pools[i]);
    free(t->pools);
}

struct pool_jobs *pool_table_get(struct pool_table *t, uint32_t index, ao_time ageing)
{
    struct pool_jobs *found = pool_table_find(t, index);
    if (found)
        return found;
    struct pool_jobs **pools = grow_array(t->pools, &t->room, index, sizeof *pools);
    if (!pools)
        return NULL;
    t->pools = pools;
    struct pool_jobs *made = calloc(1, sizeof *made);
    if (made)
        fair_queue_init(&made->queue, index, ageing);
    return t->pools[index] = made;
}

uint32_t queue_pool(const struct job_queue *q)
{
    return queue_runs(q) ? q->method->pool->index : POOL_NONE;
}

struct pool_jobs *pool_table_of(const struct pool_table *t, const struct job *job)
{
    return pool_table_find(t, queue_pool(job->queue));
}
