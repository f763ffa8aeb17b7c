/* Operations of semaphores that wait for others: sem.*; the rest of them needs no header but
 * operation.h.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SEMAPHORE_OPERATIONS_H
#define ERGON_JOBS_SEMAPHORE_OPERATIONS_H

struct jobs;

/* Tells whoever was called that it has what it waited for. */
void semaphores_settle(struct jobs *jobs);

/* The server stops: who waits is answered DRAINING, and connections hold nothing any more.  What is
 * held stays, and its grace does not run: the server ends before. */
void semaphores_stop(struct jobs *jobs);

/* Nothing comes back from the store any more: whoever waits for a row is answered DRAINING, too. */
void semaphores_dismiss(struct jobs *jobs);

#endif
