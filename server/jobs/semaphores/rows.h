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

/* Writes the first row of one; `done` is called with the hold as owner, which stays until then
 * (hold_rows_returned()).  False without memory: nothing is written. */
bool hold_rows_put(struct jobs *jobs, struct hold *h, write_done *done);
/* Writes what it is now; the row of one that is GONE goes.  What cannot be written is written later
 * (semaphores_save()), from what the hold is by then.  False: there is no memory now. */
bool hold_rows_save(struct jobs *jobs, struct hold *h);
/* That write is back.  False: the hold is GONE, and so is its memory, if the file knows that. */
bool hold_rows_returned(struct jobs *jobs, struct hold *h, const struct store_op *write);
/* Takes one that is GONE, and frees it when nothing of it is to be written any more; `has_row`:
 * this goes.  False: there is no memory now, and it goes later. */
bool hold_rows_end(struct jobs *jobs, struct hold *h, bool has_row);
void hold_rows_abandon_gone(struct jobs *jobs); /* the server ends, and nothing comes back */

/* Writes what a semaphore is now: one that stays and is durable has a row, any other none.
 * Likewise; it stays until its row is gone. */
bool semaphore_rows_save(struct jobs *jobs, struct semaphore *s);
/* The server ends: it leaves its row, and nothing comes back any more. */
void semaphore_rows_abandon(struct semaphore *s);

/* They write what the store did not take before: of struct subsystem. */
bool semaphores_save(struct jobs *jobs);
void semaphores_flush(struct jobs *jobs);

#endif
