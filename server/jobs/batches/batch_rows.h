/* Durable batches: to the store.
 *
 * Of one batch at most one write is under way: a group of the first rows of what it has submitted,
 * the removal of rows of members that were forgotten, and its own row, which counts these.  What
 * changes meanwhile goes with the next.  A write that fails is made again, from what the batch is
 * by then: while the store is out of order with all that waits for it, each second; one that the
 * store refuses for what it is, after a wait that grows from a second to a minute.
 *
 * So the rows of a batch that has not ended are always its row, which counts the members that have
 * none any more, and those of all other members: after a crash the counts are a sum of both.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_BATCH_ROWS_H
#define ERGON_JOBS_BATCH_ROWS_H

#include "server/jobs/batches/batch.h"

/* Writes what it is now.  OP is answered (struct batches) when that is on disk, or could not be
 * written; NULL: nobody waits. */
void batch_rows_write(struct batch *b, struct operation *op);
/* The member, which has ended so, is forgotten: its row goes.  Without memory it stays, and is
 * counted by the next start. */
void batch_rows_leave(struct batch *b, uint64_t id, enum job_state end);
/* Its row goes, if it has one. */
void batch_rows_remove(struct batch *b);

/* The timer of the batch is due, which has not ended: what the store refused is tried again if its
 * time has come.  Returns when this is to be called again; 0: it need not be. */
ao_time batch_rows_try_again(struct batch *b);

/* They write what the store did not take before: of struct subsystem. */
bool batch_rows_save(struct jobs *jobs);
void batch_rows_flush(struct jobs *jobs);

/* The store ends: operations that still wait for a write are answered. */
void batch_rows_dismiss(struct jobs *jobs);

#endif
