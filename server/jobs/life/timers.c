/* What is due by the clock.  A job has one timer, which sleeps until the first of the times that
 * count in its state. */
#include "server/jobs/jobs_parts.h"

static ao_time first_of(ao_time a, ao_time b)
{
    return a < b ? a : b;
}

static ao_time next_time(const struct job *job)
{
    if (job_is(job, JOB_ENDING))
        return AO_NEVER;
    switch ((enum job_state)job->state) {
    case JOB_DELAYED:
        return first_of(job->due, job->deadline);
    case JOB_QUEUED:
    case JOB_WAITING:
        return job->deadline;
    case JOB_ASSIGNED:
    case JOB_RUNNING:
    case JOB_PARKED:
        return first_of(job->until, job->deadline);
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_EXPIRED:
    case JOB_DEAD:
        return job->due;
    case JOB_STATE_COUNT:
        return AO_NEVER;
    }
    return AO_NEVER;
}

/* In its own step the end of that step sets it. */
void job_set_timer(struct jobs *jobs, struct job *job)
{
    ao_time next = next_time(job);
    (void)jobs;
    if (ao_current() == &job->timer)
        return;
    bool sleeps = ao_state(&job->timer) == AO_STATE_SLEEPING;
    if (sleeps ? job->timer.due == next : next == AO_NEVER)
        return;
    ao_deactivate(&job->timer);
    if (next != AO_NEVER)
        ao_sleep_until(&job->timer, next);
}

static void time_out(struct jobs *jobs, struct job *job)
{
    char text[96];
    snprintf(text, sizeof text, "attempt %u took longer than its timeout of %llu ms", job->attempt,
             (unsigned long long)(job->timeout / AO_MS(1)));
    attempt_disown(jobs, job, ATTEMPT_LATE);
    outcome_failed(jobs, job, JOB_EVENT_TIMED_OUT, "DEADLINE", text);
}

static void come_due(struct jobs *jobs, struct job *job)
{
    ao_time now = jobs_now(jobs);
    if (!job_state_open((enum job_state)job->state))
        retention_forget(jobs, job);
    else if (job->deadline <= now)
        job_end(jobs, job, JOB_EXPIRED, "DEADLINE", "its deadline passed before it was done");
    else if (job->state == JOB_DELAYED)
        job_schedule(jobs, job, false);
    else if (job->list == &jobs->outs && job->until <= now)
        time_out(jobs, job);
}

static ao_time next_of_living(const struct jobs *jobs, uint64_t id)
{
    const struct job *job = jobs_find(jobs, id);
    return job ? next_time(job) : AO_NEVER;
}

enum ao_verdict job_due(struct ao *self)
{
    struct job *job = ao_of(self, struct job, timer);
    struct jobs *jobs = job->jobs;
    uint64_t id = job->id;
    if (next_time(job) <= jobs_now(jobs))
        come_due(jobs, job);
    ao_time next = next_of_living(jobs, id);
    if (next == AO_NEVER)
        return AO_DONE;
    ao_sleep_until(self, next);
    return AO_PARK;
}
