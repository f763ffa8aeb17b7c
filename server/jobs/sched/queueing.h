/* Into the queue, and out of wherever a job waits.  Thread: the jobs'.  Nothing here fails. */
#ifndef ERGON_JOBS_QUEUEING_H
#define ERGON_JOBS_QUEUEING_H

#include "server/jobs/core/names.h"
#include "server/jobs/sched/scheduler.h"

/* Queues a job that can only be queued; or, if its queue is paused or its method has no executors,
 * makes it wait for that.  Ends nobody. */
void job_enqueue(struct scheduler *s, struct job *job, bool front);

/* Makes the job wait in `held` of its queue. */
void job_hold(struct scheduler *s, struct job *job, enum held_kind kind, enum job_reason reason);
/* Takes out the one that goes on first; NULL: there is none. */
struct job *queue_pop_held(struct job_queue *q);

/* Takes the job out of wherever it waits, and gives back what it has of its limit and rate; what it
 * comes after still counts. */
void job_unplace(struct scheduler *s, struct job *job);

/* Takes the job out of wherever it waits or runs, and gives back its permit and token.  An attempt
 * that is out never begins; or, where it has begun, is flagged, and does not count any more. */
void job_dequeue(struct scheduler *s, struct job *job);

#endif
