#include "server/jobs/persist/replay.h"

#include "server/jobs/core/history.h"
#include "server/jobs/core/past.h"

static const char said_before[] = "its data are not kept across a restart of the server";

static int event_of_name(struct span name)
{
    for (int what = 0; what < JOB_EVENT_COUNT; what++)
        if (span_is(name, job_event_name((enum job_event)what)))
            return what;
    return -1;
}

static bool is_said(uint8_t what)
{
    return what == JOB_EVENT_PROGRESS || what == JOB_EVENT_PARTIAL;
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

void replay_event(struct jobs *jobs, const struct store_event *row)
{
    struct job *job = table_find(&jobs->table, row->id);
    int what = event_of_name(row->what);
    if (!job || what < 0)
        return;
    if (row->seq > 2)
        start_before(jobs, job, row, (enum job_event)what);
    if (what == JOB_EVENT_FENCED && job_is(job, JOB_NOT_REPLAYED) && row->seq > history_next(job))
        history_remember_end(&jobs->table, job); /* of an attempt that came back after it */
    bool lost = is_said((uint8_t)what) && row->text.len == 0;
    history_remember(&jobs->table, job,
                     &(struct history_event){.seq = row->seq,
                                             .what = (uint8_t)what,
                                             .attempt = row->attempt,
                                             .at = row->at,
                                             .text = lost ? span_text(said_before) : row->text,
                                             .data = row->data});
}
