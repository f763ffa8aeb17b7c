#include "server/jobs/core/transitions.h"

#include <assert.h>

#include "base/log.h"
#include "server/jobs/core/walk.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/history_reload.h"
#include "server/jobs/core/message.h"
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

static void trace(const struct job_table *table, const struct job *job, enum job_state state,
                  enum job_reason reason)
{
    const char *was = job->state == JOB_NEW ? "new" : job_state_names[job->state];
    TRACE(table->activator, "job", (job->id & TRACED) + 1, "%s -> %s (%s)", was,
          job_state_names[state], job_reason_name(reason));
}

static void log_move(const struct job *job, enum job_state state, enum job_reason reason)
{
    char id[ID_TEXT_SIZE];

    log_debug("task moves", LOG_STR("task", id_text(job->id, id)),
              LOG_STR("method", (const char *)job->queue->name.at),
              LOG_STR("from", job->state == JOB_NEW ? NULL : job_state_names[job->state]),
              LOG_STR("to", job_state_names[state]), LOG_STR("reason", job_reason_name(reason)),
              LOG_UINT("attempt", job->attempt));
}

static void count(struct job_table *table, struct job *job, enum job_state state)
{
    if (job->state != JOB_NEW) {
        assert(counter_read(&job->queue->by_state[job->state]) > 0);
        counter_add(&job->queue->by_state[job->state], (uint64_t)-1);
        counter_add(&table->by_state[job->state], (uint64_t)-1);
    } else if (job->durable != DURABLE_NONE) {
        counter_add(&table->shown_durable, 1);
    }
    counter_add(&job->queue->by_state[state], 1);
    counter_add(&table->by_state[state], 1);
}

/* --- The history --- */

void job_note_event(struct job_table *table, struct job *job, struct history_event event)
{
    history_complete(table, job);
    size_t was = history_bytes(job);
    event.at = event.at ? event.at : table_wall(table);
    event.attempt = job->attempt;
    history_add(job, &event, table->history_max);
    feed_add(&table->feed, job, event.what, event.at, event.reason, event.text);
    table_weigh_part(table, job, was, history_bytes(job));
    job_effect(table, job, EFFECT_HISTORY);
}

void job_note(struct job_table *table, struct job *job, enum job_event what, const char *text)
{
    job_note_event(table, job,
                   (struct history_event){.what = (uint8_t)what,
                                          .reason = job->reason,
                                          .text = text ? span_text(text) : (struct span){0}});
}

/* It is new, or was, until its row was on disk. */
static bool is_placed_first(const struct job *job)
{
    return job->state == JOB_NEW ||
           (job->state == JOB_QUEUED && job->reason == JOB_WHY_COMMIT && job->attempt == 0);
}

/* Where a new job goes first, and a change of the reason alone, are no events. */
static void note(struct job_table *table, struct job *job, enum job_state was)
{
    char text[JOB_LINE_MAX];
    switch ((enum job_state)job->state) {
    case JOB_QUEUED:
        if (was == JOB_DELAYED || was == JOB_WAITING)
            job_note(table, job, JOB_EVENT_QUEUED, NULL);
        return;
    case JOB_DELAYED:
        job_note(table, job, JOB_EVENT_DELAYED, NULL);
        return;
    case JOB_WAITING:
        job_note(table, job, JOB_EVENT_WAITING, NULL);
        return;
    case JOB_ASSIGNED:
    case JOB_RUNNING:
    case JOB_PARKED:
    case JOB_STATE_COUNT:
        return;
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
    case JOB_EXPIRED:
    case JOB_DEAD:
        job_end_text(job, text);
        job_note_event(
            table, job,
            (struct history_event){.what = (uint8_t)job_event_of_end((enum job_state)job->state),
                                   .reason = job->reason,
                                   .at = job->ended,
                                   .text = span_text(text)});
        return;
    }
}

/* Notes what its spans are made of: see sched/spans.h. */
static void note_trace(struct job_table *table, struct job_trace *trace, enum job_state was,
                       enum job_state state)
{
    if (state == JOB_QUEUED && was != JOB_QUEUED)
        trace->queued = table_wall(table);
    else if (!job_state_open(state) && table->recovering)
        trace->ended = true;
}

/* --- The transition --- */

static bool is_ready(enum job_state state, enum job_reason reason)
{
    return state == JOB_QUEUED || state == JOB_ASSIGNED ||
           (state == JOB_WAITING && reason != JOB_WHY_AFTER);
}

static void note_ready(const struct job_table *table, struct job *job, enum job_state state,
                       enum job_reason reason)
{
    if (job_is(job, JOB_ENDING))
        return;
    if (!is_ready(state, reason))
        job->ready = 0;
    else if (job->ready == 0)
        job->ready = table_now(table);
}

static void count_end(struct job_table *table, struct job *job)
{
    table_account(table, job)->ended[job->state]++;
    if (job->state == JOB_DONE)
        counter_add(&job->queue->done, 1);
    else if (job->state == JOB_FAILED || job->state == JOB_DEAD)
        counter_add(&job->queue->failed, 1);
    if (job->more)
        key_remove(&table->shared, &job->more->coalesce);
    job->deadline = AO_NEVER;
}

/* Does its row not say so yet?  Of a step whose attempt is out, or whose turn is being written, the
 * board says it; what follows is up to steps.h. */
static bool is_news(const struct job *job)
{
    bool is_under_way = job_state_runs((enum job_state)job->state) ||
                        job->reason == JOB_WHY_COMMIT || job->reason == JOB_WHY_STORE;
    if (job_is_quiet(job) && is_under_way && job->row == JOB_QUEUED && !job_is(job, JOB_ENDING))
        return false;
    return job->row != job_row_state(job) || job->row_attempt != job->attempt;
}

void job_set_state(struct job_table *table, struct job *job, enum job_state state,
                   enum job_reason reason)
{
    uint8_t was = job->state;
    bool was_behind = job->is_message && was == JOB_WAITING && job->reason == JOB_WHY_ACTOR;
    bool open = job_state_open(state), first = is_placed_first(job) && open;
    bool was_open = job_state_open((enum job_state)was); /* JOB_NEW is no open state */
    assert(moves[was] & 1 << state || was == state);
    assert(!activator_current() || activator_current() == table->activator);
    assert(open || (!job->list && !job->attempt_task));
    assert(open || !job_is(job, JOB_ENQUEUED | JOB_HAS_PERMIT | JOB_HAS_TOKEN));
    trace(table, job, state, reason);
    if (log_has(LOG_DEBUG))
        log_move(job, state, reason);
    job_census_changing(table->census, job);
    count(table, job, state);
    job->state = (uint8_t)state;
    if (open && !was_open)
        open_jobs_add(&job->queue->open, job);
    else if (was_open && !open)
        open_jobs_remove(&job->queue->open, job);
    job_census_changed(table->census, job);
    job->reason = (uint8_t)reason;
    if (open)
        note_ready(table, job, state, reason);
    else if (!job_is(job, JOB_ENDING) && (was != JOB_NEW || job->ended == 0))
        job->ended = table_wall(table); /* else its row says when it ended */
    if (job->more && job->more->trace)
        note_trace(table, job->more->trace, (enum job_state)was, state);
    if (was != state && !first && !table->recovering &&
        !(open && (was_behind || job_is_quiet(job))))
        note(table, job, (enum job_state)was);
    if (!open && !table->recovering)
        count_end(table, job);
    job_effect(table, job,
               (open ? EFFECT_TIMER : EFFECT_ENDED) |
                   (job->durable != DURABLE_NONE && is_news(job) ? EFFECT_WRITE : 0));
}
