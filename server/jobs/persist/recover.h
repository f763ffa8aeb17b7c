/* The store read back.
 *
 * First, before the start, every row becomes a job: those that have ended are kept for the rest of
 * their time.  Then, at the start, when the store takes writes again, what was open goes on: an
 * attempt that had begun is one crash more, and the next one has a higher number.
 *
 * Thread: the one that builds; table->recovering is set while rows are read. */
#ifndef ERGON_JOBS_RECOVER_H
#define ERGON_JOBS_RECOVER_H

#include "server/jobs/jobs_parts.h"

void recover_counts(struct jobs *jobs, const struct store_counts *counts);
/* The queue is paused, or drained.  False without memory. */
bool recover_queue(struct jobs *jobs, const struct store_queue *row);
/* A row becomes a job; rows come in the order of their ids.  False, and `failure` is a constant
 * text: the row has a state that is none, or there is no memory.  Then no job was made. */
bool recover_task(struct jobs *jobs, const struct store_task *row, const char **failure);

/* With the store started: all that is open is scheduled. */
void recover_go_on(struct jobs *jobs);

#endif
