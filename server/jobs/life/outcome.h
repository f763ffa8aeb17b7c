/* How attempts end, and what people wish of a job.  Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_OUTCOME_H
#define ERGON_JOBS_OUTCOME_H

#include "server/jobs/sched/queueing.h"

/* The current attempt came home; the job holds nothing of it any more.  The block of its result may
 * be taken. */
void outcome_returned(struct scheduler *s, struct job *job, const struct attempt_end *r);

/* The current attempt failed, by its own fault: the job is tried again later, or has failed for
 * good. `code` and `text` are copied. */
void outcome_failed(struct scheduler *s, struct job *job, enum job_event what, const char *code,
                    const char *text);

/* Somebody wants the job less.  True: nobody wants it any more, and it is, or will be, cancelled.
 */
bool job_cancel(struct scheduler *s, struct job *job);

/* Runs an ended job again, as new.  False: it is open, or done. */
bool job_retry(struct scheduler *s, struct job *job);

#endif
