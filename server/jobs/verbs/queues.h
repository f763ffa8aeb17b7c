/* The queues, one per method: whether they are paused, drained or offered, kept in the store.
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_QUEUES_H
#define ERGON_JOBS_QUEUES_H

#include <stdbool.h>

struct job_queue;
struct jobs;
struct method;

/* Writes the state of each queue that differs from the store's, unless a write of that queue is
 * under way.  False: no state differs. */
bool queues_save(struct jobs *jobs);

/* The same for one queue. */
void queues_remember(struct jobs *jobs, struct job_queue *q);
/* Parameters of its jobs are secret from now on, or are not any more. */
void queues_set_secret(struct jobs *jobs, struct job_queue *q, bool secret);
/* Does a handler of this process say that its parameters are secret?  No worker takes that back. */
bool queues_handler_hides(const struct method *m);
/* Sets that of modules' methods whose handlers say so.  At the start. */
void queues_mark_handlers(struct jobs *jobs);

/* Answers the operations that wait for a write DRAINING, since none comes back any more. */
void queues_stop(struct jobs *jobs);

#endif
