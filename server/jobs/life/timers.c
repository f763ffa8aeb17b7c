#include "server/jobs/life/timers.h"

#include <stdio.h>

#include "server/jobs/life/outcome.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/queueing.h"

static ao_time first_of(ao_time a, ao_time b)
{
    return a < b ? a : b;
}

ao_time timers_next(const struct job *job)
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

void timers_arm(struct job *job)
{
    ao_time next = timers_next(job);
    if (ao_current() == &job->timer)
        return;
    bool sleeps = ao_state(&job->timer) == AO_STATE_SLEEPING;
    if (sleeps ? job->timer.due == next : next == AO_NEVER)
        return;
    ao_deactivate(&job->timer);
    if (next != AO_NEVER)
        ao_sleep_until(&job->timer, next);
}

static void advance(struct job *job, ao_time now, ao_time by)
{
    if (job->due > now && job->due != AO_NEVER)
        job->due = job->due - now > by ? job->due - by : now;
    if (job->deadline > now && job->deadline != AO_NEVER)
        job->deadline = job->deadline - now > by ? job->deadline - by : now;
    timers_arm(job);
}

/* All at once: what becomes due by a time of the new clock meanwhile would be moved, too. */
void timers_advance(struct scheduler *s, ao_time by)
{
    ao_time now = table_now(s->table);
    for (struct job *job = s->table->first; job; job = job->all_next)
        if (job_is_open(job))
            advance(job, now, by);
}

/* Does its row say that it is open, so that the store sets its deadline back (STORE_SET_BACK)? */
static bool is_set_back(const struct job *job)
{
    uint8_t state = job->durable == DURABLE_NONE ? job->state : job->row;
    return job->deadline_at > 0 && (state == JOB_NEW || job_state_open((enum job_state)state));
}

void timers_set_back(const struct scheduler *s, uint64_t by)
{
    for (struct job *job = s->table->first; job; job = job->all_next)
        if (is_set_back(job))
            job->deadline_at = job->deadline_at > by ? job->deadline_at - by : 1;
}

/* A task whose cancel was answered does not fail, and is not tried again. */
static void time_out(struct scheduler *s, struct job *job)
{
    char text[96];
    if (job_is(job, JOB_CANCEL)) {
        job_end(s, job, JOB_CANCELLED, NULL, NULL);
        return;
    }
    snprintf(text, sizeof text, "attempt %u took longer than its timeout of %llu ms", job->attempt,
             (unsigned long long)(job->timeout / AO_MS(1)));
    out_disown(s, job, ATTEMPT_LATE);
    outcome_timed_out(s, job, text);
}

/* Its handler should have begun by now.  So the tasks before it take long: it goes back into the
 * queue, where another executor finds it, and holds nothing.  The next look comes after twice the
 * time, so that an executor that only comes slowly to what it is given does come to it. */
static void look(struct scheduler *s, struct job *job)
{
    if (out_recall(s, job)) {
        job_list_push(&s->granted, job);
        return;
    }
    out_show(s, job);
    if (job->until <= table_now(s->table))
        time_out(s, job);
}

void timers_due(struct scheduler *s, struct job *job)
{
    ao_time now = table_now(s->table);
    if (timers_next(job) > now)
        return;
    if (!job_state_open((enum job_state)job->state))
        retention_forget(s->table, job);
    else if (job->deadline <= now)
        job_end(s, job, JOB_EXPIRED, "DEADLINE", "its deadline passed before it was done");
    else if (job->state == JOB_DELAYED)
        job_schedule(s, job, false);
    else if (out_is_assigned(s, job))
        look(s, job);
    else if (job->list == &s->running && job->until <= now)
        time_out(s, job);
}
