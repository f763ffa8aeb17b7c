/* The order in which jobs are picked: priority with ageing, then tenants in turn (deficit round
 * robin by their weights; Shreedhar and Varghese 1995), then arrival.
 *
 * There is one queue for each pool of executors.  Ten levels, one for each priority; in each a ring
 * of the tenants that have something there, each with its jobs in order of arrival.  A turn is
 * `weight` jobs.
 *
 * Levels age, jobs do not.  A level is served once before a higher one when it has waited longer
 * than that by `ageing` for each step between them; then it waits anew.  So the lowest waits for
 * the highest at most nine times `ageing`, and then for the starts of levels that have waited as
 * long.  Of two starts in a row at most one goes before a higher level.  While higher levels always
 * have jobs, a backlog begins job by job, each after such a wait.  Between tenants of one priority
 * age does not count.
 *
 * A tenant that was not served by a level for a whole round is *fresh* there when it comes back:
 * fresh tenants and the ring are served alternately, so its first job is the next or the next but
 * one.  After that job the tenant is in the ring as the others are.  A tenant that comes back
 * within a round goes to the end of the ring; so no tenant gains by leaving.  (These are the new
 * flows of FQ-CoDel, RFC 8290, but alternating, so that fresh tenants never shut out the others.)
 *
 * Every operation is O(1), except to put a job back: it is searched for its place from where the
 * last one was put.  Pure: the time is passed in. */
#ifndef ERGON_JOBS_FAIR_QUEUE_H
#define ERGON_JOBS_FAIR_QUEUE_H

#include "server/jobs/core/table.h"

enum { FAIR_LEVELS = 10 };

/* A tenant's jobs in one level. */
struct fair_share {
    struct tenant *tenant;
    struct fair_share *prev, *next; /* in `ring` */
    struct fair_share **ring;       /* the level's `turn` or `fresh`; NULL: no job there */
    struct job_list jobs;           /* by arrival */
    struct job *put; /* the last one put before others, or the next; NULL: look from the first */
    uint32_t left;   /* of its turn; 0: its turn has not begun */
    uint64_t fresh_from; /* it is fresh when the level has served so many */
};

struct fair_level {
    struct fair_share *turn;  /* ring: the tenant whose turn it is; NULL: empty */
    struct fair_share *fresh; /* ring of fresh tenants: the first that came; NULL: none */
    uint32_t count, shares;   /* jobs; tenants that have some */
    uint64_t weights;         /* of those tenants: the jobs of a round */
    ao_time since;            /* it has waited since then: it was served, or its first job came */
    uint64_t served;
    bool was_fresh; /* the last job served was that of a fresh tenant */
};

struct fair_queue {
    struct fair_level levels[FAIR_LEVELS];
    uint32_t pool;  /* index of the pool whose jobs these are */
    ao_time ageing; /* 0: never */
    uint32_t count;
    bool was_aged; /* the last one served went before a higher level */
};

void fair_queue_init(struct fair_queue *p, uint32_t pool, ao_time ageing);

/* Queues the job in the level of its priority, by `arrival` among its tenant's.  `now` never goes
 * back.  False without memory. */
bool fair_queue_add(struct fair_queue *p, struct job *job, ao_time now);
/* Takes out a job that is queued here. */
void fair_queue_remove(struct fair_queue *p, struct job *job);

int fair_queue_top(const struct fair_queue *p); /* the highest level with jobs; -1: none */

/* Takes the next out; NULL when there is none. */
struct job *fair_queue_take(struct fair_queue *p);
/* The one that is likely to be taken after this one, which was taken last; NULL: none is. */
struct job *fair_queue_likely(const struct fair_queue *p, const struct job *taken);
/* The job that was just taken begins: its level waits anew.  `level` of the job becomes the highest
 * one that it goes before, so that no job of that level overtakes it.  Without this call the turn
 * of the level is not used up. */
void fair_queue_served(struct fair_queue *p, struct job *job, ao_time now);

/* How many jobs are before it, for task.explain: those in higher levels, those of its own tenant
 * before it in its level (counted to `max`), and those of other tenants in its level. */
struct fair_place {
    uint32_t higher, own, others;
    uint32_t tenants;  /* that share the level, its own included */
    bool own_is_least; /* counting stopped at `max` */
};
void fair_place(const struct fair_queue *p, const struct job *job, uint32_t max,
                struct fair_place *out);

/* --- The jobs of each pool --- */

/* The jobs of one pool (server/tasks/manager/pool.h) that are queued, or assigned and not known to
 * have begun; found by the pool's index.
 *
 * Thread: the jobs'.  A pool gets this when its first job is queued, and keeps it. */

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
