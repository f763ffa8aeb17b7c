/* The queues, one per method, as queue.* stops them and lets them go on.  Thread: the jobs'. */
#ifndef ERGON_JOBS_QUEUES_H
#define ERGON_JOBS_QUEUES_H

#include <stdbool.h>

struct job_queue;
struct jobs;

/* Writes which queues are paused, drained or offered, where the file does not say so yet, and no
 * write does.  False: the file says all of it. */
bool queues_save(struct jobs *jobs);

/* The same of one. */
void queues_remember(struct jobs *jobs, struct job_queue *q);

/* No write comes back any more: whoever waits for one is answered DRAINING. */
void queues_stop(struct jobs *jobs);

#endif
