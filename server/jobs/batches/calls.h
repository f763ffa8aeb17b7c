/* The callbacks of a batch, as its first member fails, and at its end.
 *
 * Each once.  What is refused for the moment is tried again every second, and the batch ends only
 * when all is submitted.  Of a durable batch the first rows of these tasks are held (journal.h) for
 * the write of the batch, so that they begin when the row that names them is on disk.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_BATCH_CALLS_H
#define ERGON_JOBS_BATCH_CALLS_H

#include "server/jobs/batches/batch.h"

/* Goes on as far as its counts say. */
void calls_settle(struct batch *b);

/* The method of what is to be submitted; empty: it is none. */
struct span calls_method(struct span raw);

#endif
