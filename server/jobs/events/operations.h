/* Operations that wait for events that clients set: event.wait.  Thread: the jobs'. */
#ifndef ERGON_JOBS_EVENT_OPERATIONS_H
#define ERGON_JOBS_EVENT_OPERATIONS_H

struct jobs;

/* The server stops: who waits is answered as things stand. */
void event_operations_stop(struct jobs *jobs);

#endif
