/* All batches: the subsystem's steps, and what the files of this room call of one another.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_BATCHES_H
#define ERGON_JOBS_BATCHES_H

#include "server/jobs/batches/batch.h"

/* Bytes that a batch of this spec takes. */
size_t batch_bytes(const struct batch_spec *spec);

void batch_timer_retired(struct ao *timer);
void batches_free_all(struct jobs *jobs); /* nothing runs any more */

/* --- What operations.c has for the subsystem --- */

/* Answers an operation: what it changed is on disk, or could not be written. */
void batch_answer(struct batch *b, struct operation *op, enum store_error error);
/* The server stops: those that wait for an end are answered as things are. */
void batches_stop_watchers(struct jobs *jobs);

#endif
