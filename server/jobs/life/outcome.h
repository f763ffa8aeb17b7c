/* How attempts end, and what people do to a job: cancel, and run again.  Thread: the jobs'. Nothing
 * here blocks. */
#ifndef ERGON_JOBS_OUTCOME_H
#define ERGON_JOBS_OUTCOME_H

#include "server/jobs/sched/queueing.h"
#include "server/tasks/job_source.h"

/* The current attempt came home, and the job points to nothing of it any more.  The block of its
 * result may be taken. */
void outcome_returned(struct scheduler *s, struct job *job, const struct attempt_end *r);

/* The current attempt failed, by its own fault: the job is tried again later, or has failed for
 * good. `code` and `text` are copied. */
void outcome_failed(struct scheduler *s, struct job *job, enum job_event what, const char *code,
                    const char *text);

/* One who wanted the job wants it no more.  True: nobody is left, and the job is cancelled, or will
 * be when its attempt has returned.  False: others share the run, or the job has ended already.
 */
bool job_cancel(struct scheduler *s, struct job *job);

/* Runs an ended job again, as new.  False: it is open, or done, and nothing has changed. */
bool job_retry(struct scheduler *s, struct job *job);

#endif
