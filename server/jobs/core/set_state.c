/* The one place where the state of a job changes. */
#include <assert.h>
#include <stdio.h>

#include "server/jobs/jobs_parts.h"
#include "server/runtime/object/trace.h"

enum {
    TO_ENDS =
        1 << JOB_DONE | 1 << JOB_FAILED | 1 << JOB_CANCELLED | 1 << JOB_EXPIRED | 1 << JOB_DEAD,
    TO_WAITS = 1 << JOB_QUEUED | 1 << JOB_DELAYED | 1 << JOB_WAITING,
    TRACED = (1 << 22) - 1, /* of an id: its number in this run of the server */
    TO_RUNS = 1 << JOB_ASSIGNED | 1 << JOB_RUNNING | 1 << JOB_PARKED
};

/* From a state (row) to which others. */
static const uint16_t moves[JOB_STATE_COUNT + 1] = {
    [JOB_NEW] = TO_WAITS | TO_ENDS | TO_RUNS, /* runs, ends: as the store has it */
    [JOB_QUEUED] = TO_WAITS | TO_ENDS | 1 << JOB_ASSIGNED,
    [JOB_DELAYED] = TO_WAITS | TO_ENDS,
    [JOB_WAITING] = TO_WAITS | TO_ENDS,
    [JOB_ASSIGNED] = TO_WAITS | TO_ENDS | TO_RUNS,
    [JOB_RUNNING] = TO_WAITS | TO_ENDS | TO_RUNS,
    [JOB_PARKED] = TO_WAITS | TO_ENDS | TO_RUNS,
    [JOB_DONE] = 0,
    [JOB_FAILED] = TO_WAITS,
    [JOB_CANCELLED] = TO_WAITS,
    [JOB_EXPIRED] = TO_WAITS,
    [JOB_DEAD] = TO_WAITS,
};

static void trace(const struct jobs *jobs, const struct job *job, enum job_state state,
                  enum job_reason reason)
{
    const char *was = job->state == JOB_NEW ? "new" : job_state_names[job->state];
    TRACE(jobs->activator, "kept", (job->id & TRACED) + 1, "%s -> %s (%s)", was,
          job_state_names[state], job_reason_name(reason));
}

static void count(struct jobs *jobs, struct job *job, enum job_state state)
{
    if (job->state != JOB_NEW) {
        job->queue->by_state[job->state]--;
        counter_add(&jobs->by_state[job->state], (uint64_t)-1);
    }
    job->queue->by_state[state]++;
    counter_add(&jobs->by_state[state], 1);
}

/* --- The history --- */

void job_note_event(struct jobs *jobs, struct job *job, struct history_event event)
{
    replay_row(jobs, job);
    size_t was = job_bytes(job);
    event.at = jobs_wall(jobs);
    event.attempt = job->attempt;
    event.seq = history_add(jobs, job, &event);
    jobs_weigh(jobs, job, was);
    journal_event(jobs, job, &event);
    if (job->waits)
        waiters_history_grew(jobs, job);
}

void job_note(struct jobs *jobs, struct job *job, enum job_event what, const char *text)
{
    job_note_event(jobs, job,
                   (struct history_event){.what = (uint8_t)what,
                                          .reason = job->reason,
                                          .text = text ? span_text(text) : (struct span){0}});
}

void job_end_text(const struct job *job, char text[OPERATION_LINE_MAX])
{
    const struct job_result *end = job->end;
    text[0] = '\0';
    if (end && end->code)
        snprintf(text, OPERATION_LINE_MAX, "%s: %s", end->code, end->text ? end->text : "");
}

static void note_end(struct jobs *jobs, struct job *job)
{
    char text[OPERATION_LINE_MAX];
    job_end_text(job, text);
    job_note(jobs, job, job_event_of_end((enum job_state)job->state), text);
}

/* It is new, or was, until its row was on disk. */
static bool is_placed_first(const struct job *job)
{
    return job->state == JOB_NEW ||
           (job->state == JOB_QUEUED && job->reason == JOB_WHY_COMMIT && job->attempt == 0);
}

/* Where a new one goes first, and a change of reason alone, are no events. */
static void note(struct jobs *jobs, struct job *job, enum job_state was)
{
    switch ((enum job_state)job->state) {
    case JOB_QUEUED:
        if (was == JOB_DELAYED || was == JOB_WAITING)
            job_note(jobs, job, JOB_EVENT_QUEUED, NULL);
        return;
    case JOB_DELAYED:
        job_note(jobs, job, JOB_EVENT_DELAYED, NULL);
        return;
    case JOB_WAITING:
        job_note(jobs, job, JOB_EVENT_WAITING, NULL);
        return;
    case JOB_ASSIGNED:
        job_note(jobs, job, JOB_EVENT_STARTED, NULL);
        return;
    case JOB_RUNNING:
    case JOB_PARKED:
    case JOB_STATE_COUNT:
        return;
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_EXPIRED:
    case JOB_DEAD:
        note_end(jobs, job);
        return;
    }
}

/* --- The turn --- */

/* It has ended, and everybody may see it. */
static void settle(struct jobs *jobs, struct job *job)
{
    if (jobs->recovering) {
        retention_add(jobs, job);
        return;
    }
    (job->durable == DURABLE_NONE ? &jobs->fleeting : &jobs->kept)->ended[job->state]++;
    if (job->state == JOB_DONE)
        job->queue->done++;
    else if (job->state == JOB_FAILED || job->state == JOB_DEAD)
        job->queue->failed++;
    if (job->more)
        key_remove(&jobs->shared, &job->more->coalesce);
    waiters_job_ended(jobs, job);
    dependencies_ended(jobs, job);
    retention_add(jobs, job);
}

void job_set_state(struct jobs *jobs, struct job *job, enum job_state state, enum job_reason reason)
{
    uint8_t was = job->state;
    bool first = is_placed_first(job) && job_state_open(state);
    assert(moves[was] & 1 << state || was == state);
    trace(jobs, job, state, reason);
    audit_changing(jobs, job);
    count(jobs, job, state);
    job->state = (uint8_t)state;
    audit_changed(jobs, job);
    job->reason = (uint8_t)reason;
    if (!job_state_open(state) && job->ended == 0)
        job->ended = jobs_wall(jobs);
    if (was != state && !first && !jobs->recovering)
        note(jobs, job, (enum job_state)was);
    if (!job_state_open(state))
        settle(jobs, job);
    else
        job_set_timer(jobs, job);
}
