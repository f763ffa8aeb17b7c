/* Tenants and queues, by name.  Both belong to the table: a queue stays as long as the table, a
 * tenant until no job names it.  Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_NAMES_H
#define ERGON_JOBS_NAMES_H

#include <stdlib.h>

#include "server/jobs/core/table.h"

/* Found, or made; NULL without memory. */
struct tenant *table_tenant(struct job_table *table, struct span name);
struct tenant *table_tenant_find(const struct job_table *table,
                                 struct span name);                 /* NULL: none is there */
void table_tenant_unref(struct job_table *table, struct tenant *t); /* one job less names it */

/* The job does not count as ended, or does not any more: so is counted what each tenant holds.  A
 * job counts as ended while retention.h keeps it for its time. */
void tenant_count_open(struct job_table *table, const struct job *job, bool open, size_t bytes);
/* The job counts as ended, but cannot be forgotten, since an open one is to read its result; or not
 * any more: so it makes no room for what is new. */
void tenant_count_read(struct job_table *table, const struct job *job, bool read);
/* It has more open jobs, or fewer: for the board of tenants. */
void tenant_show_open(struct job_table *table, struct tenant *t);

/* Of one from which no job is queued. */
static inline void tenant_free_shares(struct tenant *t)
{
    for (uint32_t i = 0; i < t->share_room; i++)
        free(t->shares[i]);
    free(t->shares);
}

/* NULL: there is none of this method yet. */
struct job_queue *table_queue_find(struct job_table *table, struct span method);
/* Found, or made; NULL without memory. */
struct job_queue *table_queue(struct job_table *table, struct span method);

/* Its jobs can be queued: there is a pool of executors for the method, though it may be one of
 * workers, and none there now. */
bool queue_runs(const struct job_queue *q);
/* A handler of this process runs them, whatever workers do. */
bool queue_is_local(const struct job_queue *q);
/* Somebody runs them now. */
static inline bool queue_is_served(const struct job_queue *q)
{
    return queue_runs(q) && (q->offer.now || queue_is_local(q));
}
/* It has jobs that have not ended. */
bool queue_is_open(const struct job_queue *q);

/* For table_init() and table_fini() alone. */
void names_init(struct job_table *table);
void names_fini(struct job_table *table);

#endif
