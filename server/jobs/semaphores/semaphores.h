/* Durable semaphores and holds: read back from the store, before that starts.  Thread: the jobs'.
 */
#ifndef ERGON_JOBS_SEMAPHORES_H
#define ERGON_JOBS_SEMAPHORES_H

#include "server/store/store.h"

struct jobs;

/* A row becomes a semaphore, or a hold without a connection.  False without memory. */
bool semaphore_rows_recover(struct jobs *jobs, const struct store_semaphore *row);
bool hold_rows_recover(struct jobs *jobs, const struct store_hold *row);

#endif
