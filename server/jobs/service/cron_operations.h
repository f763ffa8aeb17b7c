/* What the store says of the operations on crons.  Thread: the jobs'. */
#ifndef ERGON_JOBS_CRON_OPERATIONS_H
#define ERGON_JOBS_CRON_OPERATIONS_H

struct jobs;
struct store_op;

/* One of STORE_CRON_PUT, STORE_CRON_REMOVE came back: the operation in its tag, if any, is
 * answered. */
void crons_returned(struct jobs *jobs, struct store_op *write);

#endif
