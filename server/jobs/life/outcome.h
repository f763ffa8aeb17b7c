/* How attempts end, and what people do to a job: cancel, and run again.  Thread: the jobs'. Nothing
 * here blocks. */
#ifndef ERGON_JOBS_OUTCOME_H
#define ERGON_JOBS_OUTCOME_H

#include <ergon/ao.h>

#include "server/jobs/sched/queueing.h"
#include "server/tasks/job_source.h"

/* When a failed task is tried again.  Pure. */

/* The wait after the n-th failure (from 1): backoff x 2^(n-1), at most `max`, of which `jitter`
 * percent are left to chance (`random`: any 64 bits), so that tasks that failed together do not
 * come together ("full jitter" at 100). */
ao_time backoff_wait(ao_time backoff, ao_time max, uint8_t jitter, uint32_t n, uint64_t random);

/* Is it of no use to try again?  Of a failure's code: NO_METHOD, NO_EXECUTOR, BAD_PARAMS,
 * TOO_LARGE, TOO_DEEP, DENIED, and whatever starts with PERMANENT. */
bool backoff_is_permanent(const char *code);

/* --- Loss --- */

/* Attempts whose worker was lost: its connection ended while it had them.
 *
 * Such an attempt says nothing of its task, so it is interrupted, as one is when the server stops:
 * it costs no retry, its permit is free, and the next attempt comes at once, before others.  But a
 * task may be the cause, and bring down each worker that takes it.  So losses are counted, one
 * after another: a loss in company, of a worker that had other tasks too, counts one, and one that
 * was alone counts three, since there is nobody else to suspect; but the first counts one, for a
 * worker of a single slot that is taken away says nothing of what it ran.  At `tasks.losses` the
 * task is dead.  From the second loss on the next attempt waits, for 1 s, doubled up to a minute,
 * half of which is left to chance: that also parts the task from those that it was lost with.
 *
 * An answer, whatever it says, shows that a worker outlived the task: the losses before it count no
 * more.  So does task.retry.
 *
 * Thread: the jobs'.  Nothing here blocks or fails; without memory a loss is not counted. */

/* The worker of the current attempt, which had begun, was lost, and the job points to nothing of it
 * any more. */
void loss_settle(struct scheduler *s, struct job *job, const struct attempt_end *r);

/* A worker has answered, or the job begins anew. */
static inline void loss_forget(struct job *job)
{
    if (job->more)
        job->more->losses = job->more->lost = 0;
}

/* --- Outcome --- */

/* The current attempt came home, and the job points to nothing of it any more.  The block of its
 * result may be taken. */
void outcome_returned(struct scheduler *s, struct job *job, const struct attempt_end *r);

/* The current attempt failed, by its own fault: the job is tried again later, or has failed for
 * good.  Texts are copied; `traceback` may be empty. */
void outcome_failed(struct scheduler *s, struct job *job, enum job_event what, const char *code,
                    const char *text, struct span traceback);

/* The current attempt took too long, and is no more the job's: it failed, if it counts. */
void outcome_timed_out(struct scheduler *s, struct job *job, const char *text);

/* One submitter wants the job no more.  True: no submitter is left, and the job is cancelled, or
 * will be when its attempt has returned.  False: others share the run, or the job has ended
 * already. */
bool job_cancel(struct scheduler *s, struct job *job);

/* Runs an ended job again, as new.  False: it is open, or done, and nothing has changed. */
bool job_retry(struct scheduler *s, struct job *job);

#endif
