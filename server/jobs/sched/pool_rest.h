/* Pools whose workers die: a broken release is to burn one task, and not the queue.
 *
 *     open --- RESTS_AFTER starts, one after another, ended with their workers ---> resting
 *      ^                                                                            |    ^
 *      |                                            its time (1 s, doubled to 1 m)  v    | lost,
 * too
 *      +--- any task of the pool is answered ------------------------------------- trying
 *
 * A pool that rests gets no task; a pool that tries gets one at a time.  A try that goes on for
 * longer than a minute shows little, and another is begun beside it.
 *
 * Thread: the jobs'.  Nothing here blocks or fails; without memory a pool does not rest. */
#ifndef ERGON_JOBS_POOL_REST_H
#define ERGON_JOBS_POOL_REST_H

#include "server/jobs/sched/scheduler.h"

enum { RESTS_AFTER = 5 /* starts in a row */ };

struct pool_rest {
    struct ao timer; /* sleeps until the next try */
    struct scheduler *scheduler;
    uint32_t pool;     /* its index */
    uint32_t lost;     /* starts in a row that ended with their workers; at most RESTS_AFTER */
    ao_time pause;     /* the last; 0: it has not rested yet */
    ao_time next;      /* RESTS_AFTER were lost: when the next is tried */
    struct job *trial; /* its attempt is the try that is out; NULL: none is */
};

static inline bool pool_rests(const struct pool_jobs *pool)
{
    return pool->rest && pool->rest->lost == RESTS_AFTER;
}

/* May a job of the pool be begun now? */
static inline bool pool_rest_allows(const struct pool_jobs *pool, ao_time now)
{
    return !pool_rests(pool) || now >= pool->rest->next;
}

/* The job is about to be begun. */
void pool_rest_taken(struct scheduler *s, struct pool_jobs *pool, struct job *job);
/* It was not, or nobody waits for it any more: that shows nothing. */
void pool_rest_left(struct scheduler *s, struct pool_jobs *pool, const struct job *job);
/* Its worker was lost. */
void pool_rest_lost(struct scheduler *s, struct pool_jobs *pool, const struct job *job);
/* One of the pool's was answered. */
void pool_rest_answered(struct scheduler *s, struct pool_jobs *pool);

/* Before the pools are freed. */
void pool_rest_fini(struct pool_table *pools);

#endif
