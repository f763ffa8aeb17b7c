/* Attempts whose worker was lost: its connection ended while it had them.
 *
 * Such an attempt says nothing of its task, so it is interrupted, as one is when the server stops:
 * it costs no retry, its permit is free, and the next attempt comes at once, before others.  But a
 * task may be the cause, and bring down whoever takes it.  So losses are counted, one after
 * another: a loss in company, of a worker that had other tasks too, counts one, and one that was
 * alone counts three, since there is nobody else to suspect; but the first counts one, for a worker
 * of a single slot that is taken away says nothing of what it ran.  At `tasks.losses` the task is
 * dead.  From the second loss on the next attempt waits, for 1 s, doubled up to a minute, half of
 * which is left to chance: that also parts the task from those that it was lost with.
 *
 * An answer, whatever it says, shows that a worker outlived the task: the losses before it count no
 * more.  So does task.retry.
 *
 * Thread: the jobs'.  Nothing here blocks or fails; without memory a loss is not counted. */
#ifndef ERGON_JOBS_LOSS_H
#define ERGON_JOBS_LOSS_H

#include "server/jobs/sched/queueing.h"
#include "server/tasks/job_source.h"

/* The worker of the current attempt, which had begun, was lost, and the job points to nothing of it
 * any more. */
void loss_settle(struct scheduler *s, struct job *job, const struct attempt_end *r);

/* A worker has answered, or the job begins anew. */
static inline void loss_forget(struct job *job)
{
    if (job->more)
        job->more->losses = job->more->lost = 0;
}

#endif
