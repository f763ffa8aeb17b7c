/* Where a runnable job goes, and how it leaves again. */
#include "server/jobs/jobs_parts.h"

enum { MEMORY_PAUSE_MS = 100 };

static void hold(struct jobs *jobs, struct job *job, bool front, enum job_reason reason)
{
    if (front)
        job_list_push_front(&job->queue->held, job);
    else
        job_list_push(&job->queue->held, job);
    job_set_state(jobs, job, JOB_WAITING, reason);
    quarantine_leave(jobs, job);
}

void job_enqueue(struct jobs *jobs, struct job *job, bool front)
{
    unsigned kind = job_kind(job);
    if (!job->queue->method) {
        hold(jobs, job, front, JOB_WHY_NO_EXECUTOR);
        return;
    }
    if (job->queue->paused && !job_is(job, JOB_HAS_PERMIT | JOB_HAS_TOKEN)) {
        hold(jobs, job, front, JOB_WHY_PAUSED);
        return;
    }
    if (!fair_queue_add(&jobs->picks[kind], kind, job, front, jobs_now(jobs))) {
        job->due = jobs_time_after(jobs, AO_MS(MEMORY_PAUSE_MS));
        job_set_state(jobs, job, JOB_DELAYED, JOB_WHY_DELAY);
        quarantine_leave(jobs, job);
        return;
    }
    job_mark(job, JOB_ENQUEUED);
    job_set_state(jobs, job, JOB_QUEUED, jobs->stopping ? JOB_WHY_STOPPING : JOB_WHY_TURN);
    job_source_wake(jobs->tasks);
}

void job_schedule(struct jobs *jobs, struct job *job, bool front)
{
    ao_time now = jobs_now(jobs);
    if (job_is(job, JOB_CANCEL)) {
        job_end(jobs, job, JOB_CANCELLED, NULL, NULL);
    } else if (job->deadline <= now) {
        job_end(jobs, job, JOB_EXPIRED, "DEADLINE", "its deadline passed before it was done");
    } else if (job->more && job->more->after_failed) {
        dependencies_fail(jobs, job);
    } else if (job->more && job->more->after) {
        job_set_state(jobs, job, JOB_WAITING, JOB_WHY_AFTER);
    } else if (job->due > now) {
        job_set_state(jobs, job, JOB_DELAYED, job->failures ? JOB_WHY_RETRY : JOB_WHY_DELAY);
    } else if (job->durable == DURABLE_FSYNC && job_is(job, JOB_SUBMITTING)) {
        job_set_state(jobs, job, JOB_QUEUED, JOB_WHY_COMMIT);
    } else {
        job_enqueue(jobs, job, front);
    }
}

void job_dequeue(struct jobs *jobs, struct job *job)
{
    if (job->list == &jobs->outs)
        attempt_disown(jobs, job, job_is(job, JOB_CANCEL) ? ATTEMPT_CANCEL : ATTEMPT_LATE);
    if (job_is(job, JOB_ENQUEUED)) {
        unsigned kind = job_kind(job);
        fair_queue_remove(&jobs->picks[kind], kind, job);
        job_unmark(job, JOB_ENQUEUED);
    }
    job_list_remove(job);
    if (job_is(job, JOB_STARTING))
        job_source_wake(jobs->tasks); /* another may be about to start in its place */
    job_unmark(job, JOB_STARTING);
    admission_release(jobs, job);
    quarantine_leave(jobs, job);
    dependencies_unlink(jobs, job);
}
