/* Operations of semaphores that wait for others: sem.*; the rest of them needs no header but
 * operation.h.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SEMAPHORE_OPERATIONS_H
#define ERGON_JOBS_SEMAPHORE_OPERATIONS_H

struct jobs;

/* Answers the operations of holds that were called: they have what they waited for. */
void semaphores_settle(struct jobs *jobs);

/* The server stops: operations that wait are answered DRAINING, and connections hold nothing any
 * more.  What is held stays, and its grace does not run: the server ends before. */
void semaphores_stop(struct jobs *jobs);

/* Nothing comes back from the store any more: operations that wait for a row are answered DRAINING,
 * too. */
void semaphores_dismiss(struct jobs *jobs);

#endif
