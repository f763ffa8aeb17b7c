/* What has ended is kept for its time, and while there is room; then it is forgotten.
 *
 * Jobs that failed or are dead are kept apart from the others.  Together they may take
 * kept_bytes_max; beyond, the oldest of the others go first, but while those that failed take more
 * than half of it, the oldest of these.  So neither pushes the other out of its half.  Room for a
 * new job is made by the others as long as there are any.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_RETENTION_H
#define ERGON_JOBS_RETENTION_H

#include "server/jobs/sched/scheduler.h"

/* The job has ended, and everybody may see that. */
void retention_add(struct scheduler *s, struct job *job);
/* The job is run again. */
void retention_remove(struct job_table *table, struct job *job);

/* Takes the job out of the table, with EFFECT_GONE; while something still refers to it, it is
 * looked at again later. */
void retention_forget(struct job_table *table, struct job *job);
/* May the job, which has ended, be forgotten now? */
bool retention_may_forget(const struct job *job);
/* Forgets the oldest that may be, to make room for a new job.  False: there is none. */
bool retention_evict(struct scheduler *s);
/* A small step towards the room that ended jobs may take.  True: nothing is left to do. */
bool retention_trim(struct scheduler *s);

#endif
