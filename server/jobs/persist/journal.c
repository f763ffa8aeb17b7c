/* Jobs to the store, and what comes back.
 *
 * Of one job at most one row operation is on its way; what changes meanwhile makes it dirty, and
 * is written when that has come back.  So an operation that failed is simply made again, from what
 * the job is by then, and changes of a busy job are written together.  The counters of the file
 * travel with the row that they count: each row is counted as what it says. */
#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/queues.h"
#include "server/jobs/service/cron_operations.h"
#include "base/log.h"

enum {
    TAKE_BUDGET = 1024,  /* operations that came back, a step */
    RETRY_MS = 1000,     /* between two tries to write what could not be written */
    RESAVE_AHEAD = 256,  /* of which so many are on their way */
    RESAVE_VISITS = 4096 /* jobs looked at for such, a step */
};

bool journal_usable(const struct jobs *jobs)
{
    return jobs->store && jobs->store_error == STORE_OK;
}

/* --- Operations --- */

static void mark_unsaved(struct jobs *jobs, struct job *job)
{
    if (!job_is(job, JOB_UNSAVED))
        jobs->unsaved++;
    job_mark(job, JOB_UNSAVED);
    if (ao_state(&jobs->retry) == AO_STATE_INACTIVE)
        ao_sleep_until(&jobs->retry, jobs_time_after(jobs, AO_MS(RETRY_MS)));
}

static void clear_unsaved(struct jobs *jobs, struct job *job)
{
    if (job_is(job, JOB_UNSAVED))
        jobs->unsaved--;
    job_unmark(job, JOB_UNSAVED);
}

static void push_row(struct jobs *jobs, struct job *job)
{
    struct store_op *write = codec_write(jobs, job);
    if (!write) {
        mark_unsaved(jobs, job);
        return;
    }
    clear_unsaved(jobs, job);
    job_unmark(job, JOB_DIRTY);
    job->pending++;
    store_push(jobs->store, write);
}

void journal_change(struct jobs *jobs, struct job *job)
{
    if (job->durable == DURABLE_NONE || job_is(job, JOB_UNSAVED))
        return;
    if (job->pending > 0)
        job_mark(job, JOB_DIRTY);
    else
        push_row(jobs, job);
}

/* Operations stay in order, so the one that is on its way may be taken for done. */
void journal_flush(struct jobs *jobs)
{
    for (struct job *job = jobs->first; job; job = job->all_next)
        if (job_is(job, JOB_UNSAVED)) {
            push_row(jobs, job);
        } else if (job->pending > 0 && job_is(job, JOB_DIRTY)) {
            job_unmark(job, JOB_SUBMITTING);
            push_row(jobs, job);
        }
}

void journal_remove(struct jobs *jobs, struct job *job)
{
    struct store_op *write = codec_write_new(jobs, STORE_REMOVE, 0);
    if (!write)
        return; /* the next start finds it too old, and removes it */
    write->task.id = job->id;
    store_push(jobs->store, write);
}

void journal_forget(struct jobs *jobs, struct job *job)
{
    clear_unsaved(jobs, job);
    if (jobs->unsaved_at == job)
        jobs->unsaved_at = job->all_next;
}

/* Of what a handler says on the way the first and a few more are stored, so that after a crash it
 * is known up to where numbers may have been given out. */
static bool is_mark(const struct job *job, const struct history_event *said)
{
    struct history_event before;
    return said->seq % HISTORY_SAID_STEP == 0 ||
           (history_get(job, said->seq - 1, &before) && before.what != JOB_EVENT_PROGRESS &&
            before.what != JOB_EVENT_PARTIAL);
}

/* What the row tells by itself is not stored: the first start, and an end right behind it. */
static bool is_worth_storing(const struct job *job, const struct history_event *event)
{
    switch ((enum job_event)event->what) {
    case JOB_EVENT_SUBMITTED:
    case JOB_EVENT_COUNT:
        return false;
    case JOB_EVENT_PROGRESS:
    case JOB_EVENT_PARTIAL:
        return is_mark(job, event);
    case JOB_EVENT_STARTED:
        return event->seq > 2;
    case JOB_EVENT_DONE:
    case JOB_EVENT_FAILED:
    case JOB_EVENT_CANCELLED:
    case JOB_EVENT_EXPIRED:
    case JOB_EVENT_DEAD:
        return event->seq > 3;
    case JOB_EVENT_QUEUED:
    case JOB_EVENT_DELAYED:
    case JOB_EVENT_WAITING:
    case JOB_EVENT_ATTEMPT_FAILED:
    case JOB_EVENT_TIMED_OUT:
    case JOB_EVENT_INTERRUPTED:
    case JOB_EVENT_FENCED:
    case JOB_EVENT_JOINED:
    case JOB_EVENT_RETRIED:
        return true;
    }
    return true;
}

static void store_event(struct jobs *jobs, struct job *job, const struct history_event *event)
{
    struct store_op *write = codec_write_new(jobs, STORE_EVENT, event->text.len);
    if (!write)
        return;
    char *text = (char *)(write + 1);
    uint32_t oldest = history_oldest(job);
    write->event =
        (struct store_event){.id = job->id,
                             .at = event->at,
                             .seq = event->seq,
                             .attempt = event->attempt,
                             .oldest = oldest > 2 ? oldest : 0,
                             .what = span_text(job_event_name((enum job_event)event->what))};
    if (event->text.len > 0)
        write->event.text = span_of(memcpy(text, event->text.at, event->text.len), event->text.len);
    store_push(jobs->store, write);
}

void journal_event(struct jobs *jobs, struct job *job, const struct history_event *event)
{
    if (job->durable != DURABLE_NONE && jobs->options.history_max > 0 &&
        is_worth_storing(job, event))
        store_event(jobs, job, event);
}

void journal_replayed(struct jobs *jobs, struct job *job)
{
    struct history_event event;
    if (job->durable == DURABLE_NONE || jobs->options.history_max == 0)
        return;
    for (uint32_t seq = 2; history_get(job, seq, &event) && event.seq <= 3; seq = event.seq + 1)
        store_event(jobs, job, &event);
}

/* --- What came back --- */

/* Its row is on disk for the first time. */
static void submitted(struct jobs *jobs, struct job *job)
{
    job_unmark(job, JOB_SUBMITTING);
    waiters_job_saved(jobs, job, STORE_OK);
    if (job->durable == DURABLE_FSYNC && job_is_open(job) && job->reason == JOB_WHY_COMMIT)
        job_schedule(jobs, job, false);
}

static void make_fleeting(struct jobs *jobs, struct job *job)
{
    audit_changing(jobs, job);
    jobs->kept.submitted--;
    jobs->fleeting.submitted++;
    job->durable = DURABLE_NONE;
    audit_changed(jobs, job);
}

static void count_out(struct jobs *jobs, struct job *job)
{
    jobs->fleeting.submitted--;
    jobs->fleeting.ended[JOB_FAILED]--;
    job->queue->submitted--;
    job->queue->failed--;
    counter_add(&jobs->submitted, (uint64_t)-1);
}

/* Nobody was told of it: it is as if it had never been. */
static void take_back(struct jobs *jobs, struct job *job, enum store_error error)
{
    waiters_job_saved(jobs, job, error);
    make_fleeting(jobs, job);
    job_unmark(job, JOB_SUBMITTING | JOB_DIRTY | JOB_ENDING);
    if (job->more)
        key_remove(&jobs->keys, &job->more->key); /* the same key can be tried again */
    job_end(jobs, job, JOB_FAILED, "STORE", store_error_text(error));
    count_out(jobs, job);
    dependencies_finish(jobs, job);
    retention_forget(jobs, job);
}

static void start_committed(struct jobs *jobs, struct job *job)
{
    job_list_remove(job);
    if (jobs->stopping) {
        attempt_unstart(jobs, job);
        return;
    }
    job_list_push(&jobs->started[job_kind(job)], job);
    job_source_wake(jobs->tasks);
}

static void end_committed(struct jobs *jobs, struct job *job)
{
    job_unmark(job, JOB_ENDING);
    job_set_state(jobs, job, (enum job_state)job->ending, JOB_WHY_ENDED);
}

static void row_saved(struct jobs *jobs, struct job *job, const struct store_op *write)
{
    if (write->verb == STORE_PUT)
        submitted(jobs, job);
    if (write->task.cancel_asked)
        waiters_cancel_saved(jobs, job, STORE_OK);
    if (job_is(job, JOB_DIRTY) && job->pending == 0)
        push_row(jobs, job);
    if (job->pending > 0 || job_is(job, JOB_UNSAVED))
        return;
    if (job_is(job, JOB_ENDING))
        end_committed(jobs, job);
    else if (job_is(job, JOB_STARTING))
        start_committed(jobs, job);
    waiters_cancel_saved(jobs, job, STORE_OK);
}

/* The file will never take its row: it goes on in memory. */
static void give_up(struct jobs *jobs, struct job *job)
{
    log_error("task is not durable", LOG_UINT("id", job->id),
              LOG_STR("text", "the store refused its row; it lives as long as this process"));
    make_fleeting(jobs, job);
    job_unmark(job, JOB_SUBMITTING | JOB_DIRTY);
    if (job_is(job, JOB_ENDING))
        end_committed(jobs, job);
    else if (job_is(job, JOB_STARTING))
        start_committed(jobs, job);
}

static void row_failed(struct jobs *jobs, struct job *job, const struct store_op *write)
{
    job->counted = (uint8_t)write->tag;
    waiters_cancel_saved(jobs, job, write->error);
    if (write->verb == STORE_PUT && job->durable == DURABLE_FSYNC) {
        take_back(jobs, job, write->error);
        return;
    }
    if (write->error == STORE_REFUSED) {
        give_up(jobs, job);
        return;
    }
    mark_unsaved(jobs, job);
    if (job_state_open((enum job_state)job->state) && job_is(job, JOB_ENDING | JOB_STARTING))
        job_set_state(jobs, job, (enum job_state)job->state, JOB_WHY_STORE);
}

static void came_back(struct jobs *jobs, struct store_op *write)
{
    struct job *job = write->owner;
    bool ok = write->error == STORE_OK;
    if (write->verb == STORE_COUNT) {
        audit_rows(jobs, write);
        return;
    }
    if (write->verb == STORE_CRON_PUT || write->verb == STORE_CRON_REMOVE) {
        crons_returned(jobs, write);
        return;
    }
    if (write->error != STORE_REFUSED)
        jobs->store_error = write->error;
    if (!ok && ao_state(&jobs->retry) == AO_STATE_INACTIVE)
        ao_sleep_until(&jobs->retry, jobs_time_after(jobs, AO_MS(RETRY_MS)));
    if (write->verb == STORE_PAUSE || write->verb == STORE_RESUME) {
        queues_returned(jobs, write);
        return;
    }
    if (!job)
        return;
    job->pending--;
    if (ok)
        audit_row_changed(jobs, write);
    if (ok)
        row_saved(jobs, job, write);
    else
        row_failed(jobs, job, write);
}

bool journal_take(struct jobs *jobs)
{
    int budget = TAKE_BUDGET;
    if (!jobs->store)
        return true;
    for (; budget > 0; budget--) {
        struct store_op *write = store_take(jobs->store);
        if (!write)
            break;
        came_back(jobs, write);
        codec_write_free(jobs, write);
    }
    store_release(jobs->store);
    return budget > 0;
}

/* --- Once more --- */

/* While the store fails, only one is tried; when it has come back written, the others follow. */
static enum ao_verdict retry_step(struct ao *self)
{
    struct jobs *jobs = ao_of(self, struct jobs, retry);
    int budget = journal_usable(jobs) ? RESAVE_AHEAD : 1, visits = RESAVE_VISITS;
    struct job *job = jobs->unsaved_at ? jobs->unsaved_at : jobs->first;
    bool queues = queues_save(jobs);
    if (jobs->unsaved == 0 && queues) {
        ao_sleep_for(self, AO_MS(RETRY_MS));
        return AO_PARK;
    }
    if (jobs->unsaved == 0) {
        jobs->store_error = STORE_OK; /* whoever submits next finds out */
        return AO_DONE;
    }
    for (; job && budget > 0 && visits > 0; job = job->all_next, visits--)
        if (job_is(job, JOB_UNSAVED)) {
            push_row(jobs, job);
            budget--;
        }
    jobs->unsaved_at = job;
    ao_sleep_for(self, journal_usable(jobs) || visits == 0 ? AO_MS(1) : AO_MS(RETRY_MS));
    return AO_PARK;
}

const struct ao_class journal_retry_class = {.name = "store retry", .step = retry_step};
