#include "server/jobs/persist/replay.h"

#include "server/jobs/core/history.h"
#include "server/jobs/core/history_reload.h"

static const char said_before[] = "its data are not kept across a restart of the server";

static int event_of_name(struct span name)
{
    for (int what = 0; what < JOB_EVENT_COUNT; what++)
        if (span_is(name, job_event_name((enum job_event)what)))
            return what;
    return -1;
}

/* JOB_REASON_COUNT: the row does not say it, as those of earlier versions do not. */
static enum job_reason reason_of_name(struct span name)
{
    int reason = 0;
    while (reason < JOB_REASON_COUNT && !span_is(name, job_reason_name((enum job_reason)reason)))
        reason++;
    return (enum job_reason)reason;
}

static bool is_said(uint8_t what)
{
    return what == JOB_EVENT_PROGRESS || what == JOB_EVENT_PARTIAL;
}

/* Its text, or what stands in its place. */
static void read_text(struct history_event *event, struct span text)
{
    if (job_event_is_wait((enum job_event)event->what))
        event->reason = (uint8_t)reason_of_name(text);
    else if (is_said(event->what) && text.len == 0)
        event->text = span_text(said_before);
    else
        event->text = text;
}

/* What its handler said last may have had any number up to the next that is always stored. */
void replay_crash(struct jobs *jobs, struct job *job)
{
    struct history_event last;
    history_remember_start(&jobs->table, job);
    if (history_get(job, history_next(job) - 1, &last) && is_said(last.what)) {
        history_skip(job, (last.seq / HISTORY_SAID_STEP + 1) * HISTORY_SAID_STEP);
        history_mark_stored(job);
    }
}

/* The file knows when the last attempt began; so the first began no later than what came next. */
static void start_before(struct jobs *jobs, struct job *job, const struct store_event *next,
                         enum job_event what)
{
    if (job->history || next->attempt == 0)
        return;
    struct history_event start = {.seq = 2,
                                  .what = JOB_EVENT_STARTED,
                                  .attempt = next->attempt - (what == JOB_EVENT_STARTED),
                                  .at = job->started < next->at ? job->started : next->at};
    history_remember(&jobs->table, job, &start);
}

/* The event of the submission: how many share the run. */
static void read_shares(struct job *job, struct span text)
{
    uint64_t shares = 0;
    for (size_t i = 0; i < text.len && i < 10 && text.at[i] >= '0' && text.at[i] <= '9'; i++)
        shares = 10 * shares + (uint64_t)(text.at[i] - '0');
    if (job->more && shares > 0 && shares < UINT32_MAX)
        job->more->waiters = (uint32_t)shares;
}

void replay_event(struct jobs *jobs, const struct store_event *row)
{
    struct job *job = table_find(&jobs->table, row->id);
    int what = event_of_name(row->what);
    if (!job || what < 0)
        return;
    if (row->seq == 1) {
        read_shares(job, row->text);
        return;
    }
    if (row->seq > 2)
        start_before(jobs, job, row, (enum job_event)what);
    if (what == JOB_EVENT_FENCED && job_is(job, JOB_NOT_REPLAYED) && row->seq > history_next(job))
        history_remember_end(&jobs->table, job); /* of an attempt that came back after it */
    struct history_event event = {.seq = row->seq,
                                  .what = (uint8_t)what,
                                  .attempt = row->attempt,
                                  .at = row->at,
                                  .data = row->data};
    read_text(&event, row->text);
    history_remember(&jobs->table, job, &event);
}
