/* Tenants and queues, by name.  Both belong to the table: a queue stays as long as the table, a
 * tenant until no job names it.  Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_NAMES_H
#define ERGON_JOBS_NAMES_H

#include <stdlib.h>

#include "server/jobs/core/table.h"

/* Found, or made; NULL without memory. */
struct tenant *table_tenant(struct job_table *table, struct span name);
struct tenant *table_tenant_find(struct job_table *table,
                                 struct span name);                 /* NULL: none is there */
void table_tenant_unref(struct job_table *table, struct tenant *t); /* one job less names it */

/* The job does not count as ended, or does not any more: so is counted what each tenant holds.  A
 * job counts as ended while retention.h keeps it for its time. */
void tenant_count_open(struct job_table *table, const struct job *job, bool open);

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

/* Its jobs may be given: a module offers the method, and an executor runs it. */
bool queue_runs(const struct job_queue *q);

/* For table_init() and table_fini() alone.  0, or -1 without memory: names_fini() is right for
 * both. */
int names_init(struct job_table *table);
void names_fini(struct job_table *table);

#endif
