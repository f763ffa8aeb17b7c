/* Into the queue, and out of wherever a job waits.  Thread: the jobs'.  Nothing here fails. */
#ifndef ERGON_JOBS_QUEUEING_H
#define ERGON_JOBS_QUEUEING_H

#include "server/jobs/core/names.h"
#include "server/jobs/sched/scheduler.h"
#include "server/tasks/job_source.h"

/* Queues a job that can only be queued; or, if its queue is paused or no module offers its method,
 * makes it wait for that.  Ends nobody. */
void job_enqueue(struct scheduler *s, struct job *job, bool front);

/* Makes the job wait in `held` of its queue. */
void job_hold(struct scheduler *s, struct job *job, bool front, enum job_reason reason);

/* Takes the job out of wherever it waits or runs, and gives back its permit and token.  An attempt
 * that is out is flagged, and does not count any more. */
void job_dequeue(struct scheduler *s, struct job *job);

/* The attempt that is out does not count any more: it is flagged, and its return is awaited.  It
 * keeps permit and place until then. */
void job_disown(struct scheduler *s, struct job *job, enum attempt_flag flag);

/* Its start is on disk, or was on its way there, but it does not begin in this run of the server;
 * it stands in no list. */
void job_unstart(struct scheduler *s, struct job *job);

#endif
