#include "server/jobs/verbs/attempt_view.h"

#include <assert.h>

#include "proto/reader.h"
#include "server/jobs/core/history.h"
#include "server/jobs/core/table.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/verbs/view.h"

/* One attempt, and what of it is not known: 0, NULL or empty. */
struct attempt_row {
    uint32_t attempt; /* 0: none */
    uint16_t worker;
    uint64_t ready, started, ended; /* Unix ns */
    const char *outcome;            /* NULL: it runs */
    struct span error, traceback;
};

/* Follows a history from its begin.  Without `p` it only counts. */
struct fold {
    const struct job_table *table;
    const struct job *job;
    unsigned sees;
    struct pack *p;
    struct attempt_row row; /* the attempt that the events are about */
    uint64_t ready;         /* since when the next one could run; Unix ns */
    bool certain;           /* `ready` is the moment of an event that says so */
    uint32_t count, last;   /* attempts so far, the number of the last one */
};

struct span attempt_traceback(const struct history_event *event)
{
    struct span text = {0};
    struct reader r = reader_of(event->data);
    if (!history_has_traceback(event->what) || event->data.len == 0 || !read_text(&r, &text))
        return (struct span){0};
    return text;
}

void attempt_pack_traceback(struct pack *p, struct span traceback, unsigned sees)
{
    view_name(p, "traceback", sees & SEES_CONTENTS ? traceback : (struct span){0});
}

static void pack_us(struct pack *p, const char *key, uint64_t from, uint64_t to)
{
    pack_str(p, key);
    if (from == 0 || to < from)
        pack_nil(p);
    else
        pack_uint(p, (to - from) / AO_US(1));
}

static void pack_row(const struct fold *f)
{
    const struct attempt_row *row = &f->row;
    struct pack *p = f->p;
    const struct worker_label_parts worker =
        worker_label_parts(worker_label_text(&f->table->labels, row->worker));
    pack_map(p, 13);
    pack_key_uint(p, "attempt", row->attempt);
    view_name(p, "worker", worker.worker);
    view_name(p, "name", worker.name);
    view_name(p, "host", worker.host);
    view_name(p, "version", worker.version);
    pack_us(p, "queued_us", row->started ? row->ready : 0, row->started);
    view_ms(p, "started", row->started);
    view_ms(p, "ended", row->ended);
    pack_us(p, "run_us", row->ended ? row->started : 0, row->ended);
    pack_key_str(p, "outcome", row->outcome);
    view_name(p, "error", row->error);
    attempt_pack_traceback(p, row->traceback, f->sees);
    pack_key_uint(p, "traceback_size", row->traceback.len);
}

static void flush(struct fold *f)
{
    if (f->row.attempt == 0)
        return;
    f->count++;
    f->last = f->row.attempt;
    if (f->p)
        pack_row(f);
    f->row = (struct attempt_row){0};
}

static void start(struct fold *f, const struct history_event *event)
{
    flush(f);
    f->row = (struct attempt_row){.attempt = event->attempt,
                                  .worker = event->worker,
                                  .ready = f->ready,
                                  .started = event->at};
    f->ready = 0;
    f->certain = false;
}

static void could_run(struct fold *f, uint64_t at, bool certain)
{
    if (!f->certain || f->ready == 0)
        f->ready = at;
    f->certain = certain;
}

static void cannot_run(struct fold *f)
{
    f->ready = 0;
    f->certain = false;
}

/* How the attempt ended that is under way; `alone`: the event is about an attempt even if the
 * history has lost its begin. */
static void end(struct fold *f, const struct history_event *event, const char *outcome, bool alone)
{
    bool is_open = f->row.attempt == event->attempt && !f->row.outcome;
    if (!is_open && alone && event->attempt > f->last && event->attempt != f->row.attempt) {
        flush(f);
        f->row.attempt = event->attempt;
        f->row.worker = event->attempt == f->job->attempt ? f->job->ran_by : WORKER_LABEL_NONE;
        is_open = true;
    }
    if (!is_open)
        return;
    f->row.ended = event->at;
    f->row.outcome = outcome;
    f->row.error = event->text;
    f->row.traceback = attempt_traceback(event);
}

static void take(struct fold *f, const struct history_event *event)
{
    switch ((enum job_event)event->what) {
    case JOB_EVENT_SUBMITTED:
    case JOB_EVENT_RETRIED:
        could_run(f, event->at, false);
        return;
    case JOB_EVENT_QUEUED:
        could_run(f, event->at, true);
        return;
    case JOB_EVENT_DELAYED:
        cannot_run(f);
        if (event->reason == JOB_WHY_AGAIN)
            end(f, event, "again", false);
        return;
    case JOB_EVENT_WAITING: /* for a limit or a rate it waits as in the queue */
        if (event->reason == JOB_WHY_AFTER)
            cannot_run(f);
        else
            could_run(f, event->at, true);
        return;
    case JOB_EVENT_STARTED:
        start(f, event);
        return;
    case JOB_EVENT_ATTEMPT_FAILED:
        end(f, event, "failed", true);
        return;
    case JOB_EVENT_TIMED_OUT:
        end(f, event, "timed_out", true);
        return;
    case JOB_EVENT_INTERRUPTED:
        end(f, event, "interrupted", true);
        could_run(f, event->at, true);
        return;
    case JOB_EVENT_DONE:
        end(f, event, "done", false);
        return;
    case JOB_EVENT_FAILED:
    case JOB_EVENT_DEAD:
        end(f, event, "failed", false);
        return;
    case JOB_EVENT_CANCELLED:
        end(f, event, "cancelled", false);
        return;
    case JOB_EVENT_EXPIRED:
        end(f, event, "expired", false);
        return;
    case JOB_EVENT_PROGRESS:
    case JOB_EVENT_PARTIAL:
    case JOB_EVENT_FENCED:
    case JOB_EVENT_JOINED:
    case JOB_EVENT_CHANGED:
    case JOB_EVENT_COUNT:
        return;
    }
}

/* By the state that it led to; of a job that goes on after it only its error may be known. */
static const char *outcome_of(const struct job *job, const char *error)
{
    switch ((enum job_state)job->state) {
    case JOB_DONE:
        return "done";
    case JOB_CANCELLED:
        return "cancelled";
    case JOB_EXPIRED:
        return "expired";
    case JOB_FAILED:
    case JOB_DEAD:
        return "failed";
    case JOB_RUNNING:
    case JOB_PARKED:
        return NULL;
    case JOB_QUEUED:
    case JOB_DELAYED:
    case JOB_WAITING:
    case JOB_ASSIGNED:
    case JOB_STATE_COUNT:
        break;
    }
    return error[0] ? "failed" : "interrupted";
}

/* What the job itself tells of the last one. */
static void take_last(struct fold *f, char error[JOB_LINE_MAX])
{
    const struct job *job = f->job;
    if (job->attempt == 0 || job->attempt == f->last)
        return;
    job_end_text(job, error);
    f->row = (struct attempt_row){.attempt = job->attempt,
                                  .worker = job->ran_by,
                                  .started = job->started,
                                  .ended = job_is_open(job) ? 0 : job->ended,
                                  .outcome = outcome_of(job, error)};
    if (f->row.outcome)
        f->row.error = span_text(error);
    flush(f);
}

static uint32_t fold(const struct job_table *table, const struct job *job, unsigned sees,
                     struct pack *p)
{
    struct fold f = {.table = table, .job = job, .sees = sees, .p = p};
    struct history_event event;
    char error[JOB_LINE_MAX];
    for (uint32_t seq = 1; history_get(job, seq, &event); seq = event.seq + 1)
        take(&f, &event);
    flush(&f);
    take_last(&f, error);
    return f.count;
}

void attempts_pack(const struct job_table *table, const struct job *job, unsigned sees,
                   struct pack *p)
{
    uint32_t count = fold(table, job, sees, NULL);
    pack_str(p, "attempts");
    pack_array(p, count);
    fold(table, job, sees, p);
}
