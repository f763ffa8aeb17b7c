/* Durable semaphores and holds: read back from the store.  Thread: the jobs'. */
#ifndef ERGON_JOBS_HOLD_RECOVER_H
#define ERGON_JOBS_HOLD_RECOVER_H

#include "server/store/store.h"

struct jobs;

/* Rows become what they were; a hold without a connection.  False without memory. */
bool semaphore_rows_recover(struct jobs *jobs, const struct store_semaphore *row);
bool hold_rows_recover(struct jobs *jobs, const struct store_hold *row);

#endif
