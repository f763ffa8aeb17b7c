#include "server/jobs/core/history_reload.h"

#include <assert.h>

#include "server/jobs/core/history.h"

void history_remember(struct job_table *table, struct job *job, const struct history_event *event)
{
    size_t was = history_bytes(job);
    assert(event->seq > 1); /* 1 is the submission, which the row says */
    history_skip(job, event->seq);
    history_add(job, event, table->history_max);
    history_mark_stored(job);
    table_weigh_part(table, job, was, history_bytes(job));
}

void history_remember_start(struct job_table *table, struct job *job)
{
    if (!job->history && job->attempt > 0 && job->started > 0)
        history_remember(table, job,
                         &(struct history_event){.seq = 2,
                                                 .what = JOB_EVENT_STARTED,
                                                 .attempt = job->attempt,
                                                 .at = job->started,
                                                 .worker = job->ran_by});
}

void history_remember_end(struct job_table *table, struct job *job)
{
    char text[JOB_LINE_MAX];
    enum job_event end = job_event_of_end((enum job_state)job->state);
    job_end_text(job, text);
    history_remember(table, job,
                     &(struct history_event){.seq = history_next(job),
                                             .what = (uint8_t)end,
                                             .reason = JOB_WHY_ENDED,
                                             .attempt = job->attempt,
                                             .at = job->ended,
                                             .text = span_text(text)});
}

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

void history_complete(struct job_table *table, struct job *job)
{
    if (!job_is(job, JOB_NOT_REPLAYED))
        return;
    job_unmark(job, JOB_NOT_REPLAYED);
    history_remember_start(table, job);
    if (!knows_its_end(job))
        history_remember_end(table, job);
}
