#include "server/jobs/life/change.h"

#include <assert.h>
#include <stdio.h>

#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/out.h"

bool job_waits(const struct job *job)
{
    bool waits = job->state == JOB_QUEUED || job->state == JOB_DELAYED || job->state == JOB_WAITING;
    /* At the end of a stop one that is out is queued again. */
    return waits && !job->attempt_task && job_is_open(job) && !job_is(job, JOB_CANCEL);
}

static void write(struct scheduler *s, struct job *job)
{
    if (job->durable != DURABLE_NONE)
        job_effect(s->table, job, EFFECT_WRITE);
}

/* In the queue it goes behind the jobs that have been of this priority before.  What is assigned is
 * counted by its level (out.h), which therefore stays until it is taken back. */
static void set_priority(struct scheduler *s, struct job *job, uint8_t priority)
{
    char text[64];
    snprintf(text, sizeof text, "priority %u, was %u", priority, job->priority);
    job->priority = priority;
    job_note(s->table, job, JOB_EVENT_CHANGED, text);
    job_rewrite(job);
    if (job_is(job, JOB_ENQUEUED)) {
        job_unplace(s, job);
        job->due = table_now(s->table);
        job_enqueue(s, job, false);
    } else {
        assert(!out_is_assigned(s, job));
        job->level = priority;
        admission_reorder(s, job);
    }
}

/* Of one that may go on at once the row says since when. */
static void set_time(struct scheduler *s, struct job *job, ao_time due, const char *text)
{
    job_note(s->table, job, JOB_EVENT_CHANGED, text);
    job_unplace(s, job);
    job->due = due;
    job_schedule(s, job, false);
}

static void postpone(struct scheduler *s, struct job *job, const struct job_change *change)
{
    char text[64];
    ao_time now = table_now(s->table), due = now;
    if (change->at > table_wall(s->table))
        due = table_time_of(s->table, change->at);
    else if (change->delay > 0)
        due = table_time_after(s->table, change->delay);
    if (due > now)
        snprintf(text, sizeof text, "not before %llu ms from then",
                 (unsigned long long)((due - now) / AO_MS(1)));
    else
        snprintf(text, sizeof text, "at once");
    set_time(s, job, due, text);
}

/* The priority first: where its time puts it, it goes by that. */
void job_change(struct scheduler *s, struct job *job, const struct job_change *change)
{
    assert(job_waits(job));
    assert(change->priority == CHANGE_NO_PRIORITY || change->priority <= SPEC_PRIORITY_MAX);
    if (change->priority != CHANGE_NO_PRIORITY && change->priority != job->priority)
        set_priority(s, job, change->priority);
    if (change->timed && job_waits(job))
        postpone(s, job, change);
    write(s, job);
}

bool job_run_now(struct scheduler *s, struct job *job)
{
    if (!job_waits(job) || job->due <= table_now(s->table))
        return false;
    set_time(s, job, table_now(s->table), "at once");
    write(s, job);
    return true;
}
