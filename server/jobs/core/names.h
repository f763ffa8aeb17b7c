/* Tenants and queues, by name.  Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_NAMES_H
#define ERGON_JOBS_NAMES_H

#include "server/jobs/core/table.h"

/* Found, or made; NULL without memory. */
struct tenant *table_tenant(struct job_table *table, struct span name);
void table_tenant_unref(struct job_table *table, struct tenant *t); /* one job less names it */

/* NULL: there is none of this method yet. */
struct job_queue *table_queue_find(struct job_table *table, struct span method);
struct job_queue *table_queue(struct job_table *table, struct span method); /* found, or made */

/* Of table_init() and table_fini(): 0, or -1 without memory. */
int names_init(struct job_table *table);
void names_fini(struct job_table *table);

#endif
