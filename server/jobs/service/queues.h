/* The queues, one per method, as queue.* stops them and lets them go on.  Thread: the jobs'. */
#ifndef ERGON_JOBS_QUEUES_H
#define ERGON_JOBS_QUEUES_H

#include <stdbool.h>

struct jobs;

/* Writes once more which queues are paused, where the file does not say so yet.  False: the file
 * says all of it. */
bool queues_save(struct jobs *jobs);

/* No write comes back any more: whoever waits for one is answered DRAINING. */
void queues_stop(struct jobs *jobs);

#endif
