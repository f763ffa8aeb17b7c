/* Durable semaphores and holds: to the store.
 *
 * A hold has a row from before its acquire is answered until it ends, so permits that a client
 * holds are held after a restart, too, and after a crash.  A semaphore has a row only if it stays
 * without holds.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_HOLD_ROWS_H
#define ERGON_JOBS_HOLD_ROWS_H

#include "server/jobs/persist/codec.h"
#include "server/jobs/semaphores/holds.h"

/* Writes what it is; `done` is called with the hold as owner, which stays until then
 * (hold_returned()).  False without memory: nothing is written. */
bool hold_rows_put(struct jobs *jobs, struct hold *h, write_done *done);
/* Its row goes.  Without memory it stays: after a restart it is taken back when its grace is over.
 */
void hold_rows_remove(struct jobs *jobs, uint64_t fence);

/* The row of a semaphore that stays, or its end.  False without memory: nothing is written. */
bool semaphore_rows_put(struct jobs *jobs, const struct semaphore *s);
bool semaphore_rows_remove(struct jobs *jobs, const struct semaphore *s);

#endif
