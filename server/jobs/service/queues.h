/* The queues, one per method, as queue.* stops them and lets them go on.  Thread: the jobs'. */
#ifndef ERGON_JOBS_QUEUES_H
#define ERGON_JOBS_QUEUES_H

#include <stdbool.h>

struct jobs;

/* Writes what is not in the file yet, once more; false: all is. */
bool queues_save(struct jobs *jobs);

#endif
