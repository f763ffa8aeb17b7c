/* The queues, one per method: whether they are paused, drained or offered, kept in the store.
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_QUEUES_H
#define ERGON_JOBS_QUEUES_H

#include <stdbool.h>

struct job_queue;
struct jobs;

/* Writes the state of each queue that differs from the store's, unless a write of that queue is
 * under way.  False: no state differs. */
bool queues_save(struct jobs *jobs);

/* The same for one queue. */
void queues_remember(struct jobs *jobs, struct job_queue *q);

/* Answers the operations that wait for a write DRAINING, since none comes back any more. */
void queues_stop(struct jobs *jobs);

#endif
