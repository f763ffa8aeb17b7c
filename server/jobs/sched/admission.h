/* Permits of limits and tokens of buckets: what jobs are granted, and give back.  Whoever is
 * granted something because another gave it back goes into the scheduler's `granted`.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_ADMISSION_H
#define ERGON_JOBS_ADMISSION_H

#include "server/jobs/sched/scheduler.h"

/* Gives the job the limit and the bucket that its spec names.  False without memory: the job is to
 * be given up, by scheduler_forget(). */
bool admission_join(struct scheduler *s, struct job *job, const struct job_spec *spec);
void admission_leave(struct scheduler *s, struct job *job); /* before it is freed */

/* Takes permit and token for a job that is about to start.  False: it has neither, and its state is
 * WAITING, in the list of its limit or its bucket. */
bool admission_take(struct scheduler *s, struct job *job);

void admission_start(struct scheduler *s, struct job *job); /* it starts: its token is used */
void admission_release_permit(struct scheduler *s, struct job *job); /* its attempt is over */
void admission_release(struct scheduler *s, struct job *job);        /* both: it does not start */
/* The permit that an orphan of the job has had; the job may have got another one meanwhile. */
void admission_release_orphan(struct scheduler *s, struct job *job);

#endif
