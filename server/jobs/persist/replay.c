/* Histories read back.
 *
 * What the row of a task tells by itself has no event in the file: the start of the first attempt,
 * if it was the first thing that happened, and an end right behind it.  These are made from the
 * row, with the numbers that they had, so that who watches goes on where it was: at once where
 * events of the file come behind them, else when somebody looks, since few of a million ended tasks
 * are looked at.  The file knows when the last attempt began; so the first began no later than what
 * came next. */
#include "server/jobs/jobs_parts.h"

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

static void remember(struct jobs *jobs, struct job *job, struct history_event event)
{
    size_t was = job_bytes(job);
    history_skip(job, event.seq);
    history_add(jobs, job, &event);
    jobs_weigh(jobs, job, was);
}

/* --- The start --- */

static void remember_start(struct jobs *jobs, struct job *job, uint32_t attempt, uint64_t at)
{
    remember(
        jobs, job,
        (struct history_event){.seq = 2, .what = JOB_EVENT_STARTED, .attempt = attempt, .at = at});
}

static void start_of_row(struct jobs *jobs, struct job *job)
{
    if (!job->history && job->attempt > 0)
        remember_start(jobs, job, job->attempt, job->started);
}

/* What its handler said last may have had any number up to the next that is always stored. */
void replay_crash(struct jobs *jobs, struct job *job)
{
    struct history_event last;
    start_of_row(jobs, job);
    if (history_get(job, history_next(job) - 1, &last) && is_said(last.what))
        history_skip(job, (last.seq / HISTORY_SAID_STEP + 1) * HISTORY_SAID_STEP);
}

/* By what came next. */
static void start_before(struct jobs *jobs, struct job *job, const struct store_event *next,
                         enum job_event what)
{
    if (job->history || next->attempt == 0)
        return;
    uint32_t attempt = what == JOB_EVENT_STARTED ? next->attempt - 1 : next->attempt;
    remember_start(jobs, job, attempt, job->started < next->at ? job->started : next->at);
}

/* --- The end --- */

static bool knows_its_end(const struct job *job)
{
    struct history_event event;
    bool ended = false;
    for (uint32_t seq = 2; history_get(job, seq, &event); seq = event.seq + 1)
        if (event.what == JOB_EVENT_RETRIED)
            ended = false;
        else if (event.what == job_event_of_end((enum job_state)job->state))
            ended = true;
    return ended;
}

static void remember_end(struct jobs *jobs, struct job *job)
{
    char text[OPERATION_LINE_MAX];
    job_end_text(job, text);
    remember(jobs, job,
             (struct history_event){.seq = history_next(job),
                                    .what = (uint8_t)job_event_of_end((enum job_state)job->state),
                                    .reason = JOB_WHY_ENDED,
                                    .attempt = job->attempt,
                                    .at = job->ended,
                                    .text = span_text(text)});
}

void replay_row(struct jobs *jobs, struct job *job)
{
    if (!job_is(job, JOB_NOT_REPLAYED))
        return;
    job_unmark(job, JOB_NOT_REPLAYED);
    start_of_row(jobs, job);
    if (!knows_its_end(job))
        remember_end(jobs, job);
}

/* --- Events of the file --- */

void replay_event(struct jobs *jobs, const struct store_event *row)
{
    struct job *job = jobs_find(jobs, row->id);
    int what = event_of_name(row->what);
    if (!job || what < 0)
        return;
    if (row->seq > 2)
        start_before(jobs, job, row, (enum job_event)what);
    if (what == JOB_EVENT_FENCED && job_is(job, JOB_NOT_REPLAYED) && row->seq > history_next(job))
        remember_end(jobs, job); /* of an attempt that came back after it */
    bool lost = is_said((uint8_t)what) && row->text.len == 0;
    remember(jobs, job,
             (struct history_event){.seq = row->seq,
                                    .what = (uint8_t)what,
                                    .attempt = row->attempt,
                                    .at = row->at,
                                    .text = lost ? span_text(said_before) : row->text,
                                    .data = row->data});
}
