/* The queues, one per method, as queue.* stops them and lets them go on.  Thread: the jobs'. */
#ifndef ERGON_JOBS_QUEUES_H
#define ERGON_JOBS_QUEUES_H

#include <stdbool.h>

struct jobs;
struct store_op;

/* A small step: jobs in `held` of queues that go on are queued again; true: none is left. */
bool queues_go_on(struct jobs *jobs);

/* Writes what is not in the file yet, once more; false: all is. */
bool queues_save(struct jobs *jobs);

/* One of STORE_PAUSE, STORE_RESUME came back: who waits for it is answered. */
void queues_returned(struct jobs *jobs, struct store_op *write);

#endif
