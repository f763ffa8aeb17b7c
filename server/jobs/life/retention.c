/* What has ended is kept for its time, and while there is room; then it is forgotten. */
#include "server/jobs/jobs_parts.h"

enum {
    TRIM_BUDGET = 64,    /* jobs, a step */
    BUSY_PAUSE_MS = 1000 /* until one that is still referred to is looked at again */
};

/* An attempt, a commit, an operation or a task that waits for it may still ask for it. */
static bool is_referred_to(const struct job *job)
{
    return job->strays > 0 || job->pending > 0 || job->waits ||
           (job->more && (job->more->dependents || job->more->releasing)) ||
           job_is(job, JOB_UNSAVED);
}

void retention_add(struct jobs *jobs, struct job *job)
{
    struct job_spec policy;
    job_policy(job, &policy);
    job_list_push(&jobs->ended, job);
    jobs->ended_bytes += job_bytes(job);
    uint64_t end = jobs_wall_of(jobs, jobs_now(jobs)),
             past = end > job->ended ? end - job->ended : 0;
    job->due = jobs_time_after(jobs, policy.keep > past ? policy.keep - past : 0);
    job_set_timer(jobs, job);
    if (jobs->ended_bytes > jobs->options.kept_bytes_max)
        ao_activate(&jobs->ao);
}

void retention_remove(struct jobs *jobs, struct job *job)
{
    jobs->ended_bytes -= job_bytes(job);
    job_list_remove(job);
}

void retention_forget(struct jobs *jobs, struct job *job)
{
    if (is_referred_to(job)) {
        job->due = jobs_time_after(jobs, AO_MS(BUSY_PAUSE_MS));
        job_set_timer(jobs, job);
        return;
    }
    if (job->durable != DURABLE_NONE)
        journal_remove(jobs, job);
    job_free(jobs, job);
}

/* One that is still referred to is looked at again the next time round. */
bool retention_evict(struct jobs *jobs)
{
    for (int budget = TRIM_BUDGET; jobs->ended.first && budget > 0; budget--) {
        struct job *job = jobs->ended.first;
        if (!is_referred_to(job)) {
            retention_forget(jobs, job);
            return true;
        }
        job_list_remove(job);
        job_list_push(&jobs->ended, job);
    }
    return false;
}

/* With nothing that may be forgotten it is done: the next end looks again. */
bool retention_trim(struct jobs *jobs)
{
    for (int budget = TRIM_BUDGET; budget > 0; budget--)
        if (jobs->ended_bytes <= jobs->options.kept_bytes_max || !retention_evict(jobs))
            return true;
    return false;
}
