#include "server/jobs/persist/journal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "server/jobs/accessors.h"
#include "server/jobs/core/message.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/queueing.h"
#include "base/log.h"

enum {
    RETRY_MS = 1000,     /* between two tries to write what could not be written */
    RESAVE_AHEAD = 256,  /* of which so many are on their way */
    RESAVE_VISITS = 4096 /* jobs looked at for such, a step */
};

/* --- Rows --- */

void journal_try_later(struct jobs *jobs)
{
    if (ao_state(&jobs_journal(jobs)->retry) == AO_STATE_INACTIVE)
        ao_sleep_until(&jobs_journal(jobs)->retry,
                       table_time_after(jobs_table(jobs), AO_MS(RETRY_MS)));
}

/* A failed read says nothing of writes.  STORE_CLOSED answers a read that was asked while the store
 * stopped: the file has all writes nevertheless. */
static bool is_lost_read(const struct store_op *op)
{
    bool reads = op->kind == STORE_ROW_GET || op->kind == STORE_ROW_PAGE;
    return reads &&
           (op->error == STORE_AWAY || op->error == STORE_MEMORY || op->error == STORE_CLOSED);
}

void journal_notice(struct jobs *jobs, struct store_op *write)
{
    if (is_lost_read(write))
        return;
    if (!journal_is_alone(write->error))
        jobs_journal(jobs)->error = write->error;
    if (write->error == STORE_OK)
        return;
    jobs_journal(jobs)->failures += !journal_is_alone(write->error);
    jobs_journal(jobs)->unsure += write->error == STORE_UNSURE;
    journal_try_later(jobs);
}

static void mark_unsaved(struct jobs *jobs, struct job *job)
{
    if (!job_is(job, JOB_UNSAVED))
        jobs_journal(jobs)->unsaved++;
    job_mark(job, JOB_UNSAVED);
    journal_try_later(jobs);
}

static void clear_unsaved(struct jobs *jobs, struct job *job)
{
    assert(!job_is(job, JOB_UNSAVED) || jobs_journal(jobs)->unsaved > 0);
    if (job_is(job, JOB_UNSAVED))
        jobs_journal(jobs)->unsaved--;
    job_unmark(job, JOB_UNSAVED);
}

static void row_back(struct jobs *jobs, struct store_op *write);

/* The event of the submission, which needs no row otherwise, says how many submissions share the
 * run.  Calls do not outlive the process. */
static struct store_op *write_shares(struct jobs *jobs, const struct job *job)
{
    enum { DIGITS = 11 };
    struct store_op *write = codec_write_new(jobs, STORE_EVENT, DIGITS, journal_notice);
    const struct job_more *more = job->more;
    uint32_t shares = more->waiters > more->calls ? more->waiters - more->calls : 0;
    if (!write)
        return NULL;
    char *text = (char *)(write + 1);
    snprintf(text, DIGITS, "%" PRIu32, shares);
    write->event = (struct store_event){.id = job->id,
                                        .at = job->created,
                                        .seq = 1,
                                        .what = span_text(job_event_name(JOB_EVENT_SUBMITTED)),
                                        .text = span_text(text)};
    return write;
}

static bool is_shared(const struct job *job)
{
    return job->more && job->more->coalesce.name.len > 0;
}

/* Was it in no file, and has a history that goes there behind its first row? */
static bool has_past(const struct job *job)
{
    return job_is(job, JOB_FROM_MEMORY) && job->history;
}

/* No event is there before the first row: then the row is written again, behind the events. */
static void push(struct jobs *jobs, struct job *job, const struct store_op *write,
                 struct store_op *pushed)
{
    bool first = write->kind == STORE_PUT;
    store_push(jobs_store(jobs), pushed);
    if (first && ((is_shared(job) && job->more->waiters > 1) || has_past(job)))
        job_mark(job, JOB_DIRTY | JOB_REWRITE);
}

/* The group of what a turn changes or an attempt submits, to which the row of the job is to be
 * added. */
static enum message_write begin_group(struct jobs *jobs, struct job *job, struct store_op **group)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    return messages->writes(messages->arg, job, group);
}

/* Without memory for the row the others come back as if they had failed. */
static void drop_group(struct jobs *jobs, struct store_op *group)
{
    group->error = STORE_MEMORY;
    for (struct store_op *m = group->group.first; m; m = m->next)
        m->error = STORE_MEMORY;
    codec_write_back(jobs, group);
}

/* A row that followed the one that forgets it would undo that. */
static enum message_write begin_write(struct jobs *jobs, struct job *job, struct store_op **group)
{
    if (job->is_message && job_message(job)->row_held)
        return MESSAGE_WRITE_LATER;
    return job_writes_more(job) ? begin_group(jobs, job, group) : MESSAGE_WRITE;
}

/* False without memory: then it is tried again later. */
static bool push_row(struct jobs *jobs, struct job *job)
{
    bool tells_shares = codec_is_anew(job) && is_shared(job);
    struct store_op *group = NULL;
    enum message_write may = begin_write(jobs, job, &group);
    if (may == MESSAGE_WRITE_LATER) {
        job_mark(job, JOB_DIRTY);
        return true;
    }
    bool good = may == MESSAGE_WRITE;
    struct store_op *shares = good && tells_shares ? write_shares(jobs, job) : NULL;
    good = good && (!tells_shares || shares);
    struct store_op *write = good ? codec_write(jobs, job, row_back) : NULL;
    if (!write) {
        if (shares)
            codec_write_free(jobs, shares);
        if (group)
            drop_group(jobs, group);
        mark_unsaved(jobs, job);
        return false;
    }
    if (group)
        codec_group_add(group, write);
    clear_unsaved(jobs, job);
    job_unmark(job, JOB_DIRTY);
    job->pending++;
    if (shares)
        store_push(jobs_store(jobs), shares);
    push(jobs, job, write, group ? group : write);
    return true;
}

bool journal_takes_back(const struct job *job)
{
    return job_is(job, JOB_SUBMITTING) && job->pending == 0 && job->save_error != STORE_OK &&
           job->saved == JOB_SAVED_NOTHING && durable_is_awaited(job->durable);
}

/* Its last write failed, and so may the next.  Once the store takes others it is written at once:
 * answers that wait for the disk (operations/sync.h) wait for no retry. */
static bool awaits_retry(const struct jobs *jobs, const struct job *job)
{
    return job_is(job, JOB_UNSAVED) &&
           (!jobs_store_usable(jobs) || journal_is_alone((enum store_error)job->save_error));
}

void journal_write(struct jobs *jobs, struct job *job)
{
    if (job->durable == DURABLE_NONE || job->saved == JOB_SAVED_GONE || awaits_retry(jobs, job) ||
        journal_takes_back(job))
        return;
    if (job->pending > 0) {
        job_mark(job, JOB_DIRTY);
    } else if (!push_row(jobs, job)) {
        job->save_error = STORE_MEMORY;
        job_effect(jobs_table(jobs), job, EFFECT_CANCEL_SAVED);
    }
}

/* Operations stay in order, so the write that is on its way may be taken for done. */
void journal_flush(struct jobs *jobs)
{
    for (struct job *job = jobs_table(jobs)->first; job; job = job->all_next)
        if (job_is(job, JOB_UNSAVED)) {
            push_row(jobs, job);
        } else if (job->pending > 0 && job_is(job, JOB_DIRTY) && !job->is_held) {
            job_unmark(job, JOB_SUBMITTING);
            push_row(jobs, job);
        }
}

void journal_remove(struct jobs *jobs, struct job *job)
{
    assert(job->pending == 0); /* no write that comes back points to it */
    clear_unsaved(jobs, job);
    board_forget(jobs_scheduler(jobs)->board, job);
    if (jobs_journal(jobs)->unsaved_at == job)
        jobs_journal(jobs)->unsaved_at =
            NULL; /* the search begins anew: what stood behind may be gone */
    if (job->durable == DURABLE_NONE || job->saved == JOB_SAVED_GONE)
        return;
    struct store_op *write = codec_write_new(jobs, STORE_REMOVE, 0, journal_notice);
    if (!write)
        return; /* the next start finds it too old, and removes it */
    write->task.id = job->id;
    store_push(jobs_store(jobs), write);
}

/* --- Events --- */

/* Of what a handler says on the way the first and a few more are stored, so that after a crash it
 * is known up to where numbers may have been given out. */
static bool is_mark(const struct job *job, const struct history_event *said)
{
    struct history_event before;
    return said->seq % HISTORY_SAID_STEP == 0 ||
           (history_get(job, said->seq - 1, &before) && before.what != JOB_EVENT_PROGRESS &&
            before.what != JOB_EVENT_PARTIAL);
}

/* What the row tells by itself is not stored: the first start, while there is no other, and an end
 * right behind it. */
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
    case JOB_EVENT_CHANGED:
        return true;
    }
    return true;
}

/* A row has no column for reasons and workers: so the text of a wait is the name of its reason, and
 * that of a start names its worker, which people would look for (replay_event() reads both back).
 * A row of an earlier version has neither, and stays so. */
static struct span text_of(struct jobs *jobs, const struct history_event *event)
{
    if (event->what == JOB_EVENT_STARTED)
        return worker_label_text(&jobs_table(jobs)->labels, event->worker);
    bool reason =
        job_event_is_wait((enum job_event)event->what) && event->reason < JOB_REASON_COUNT;
    return reason ? span_text(job_reason_name((enum job_reason)event->reason)) : event->text;
}

static void store_event(struct jobs *jobs, struct job *job, const struct history_event *event)
{
    struct span said = text_of(jobs, event);
    struct span data = history_has_traceback(event->what) ? event->data : (struct span){0};
    struct store_op *write =
        codec_write_new(jobs, STORE_EVENT, said.len + data.len, journal_notice);
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
    if (said.len > 0)
        write->event.text = span_of(memcpy(text, said.at, said.len), said.len);
    if (data.len > 0)
        write->event.data = span_of(memcpy(text + said.len, data.at, data.len), data.len);
    store_push(jobs_store(jobs), write);
}

/* When a job is tried again by hand, or begins another attempt, its row says something else from
 * then on: the events that the row stood for until now are stored after all. */
static void store_told(struct jobs *jobs, struct job *job, uint32_t last)
{
    struct history_event event;
    for (uint32_t seq = 2; seq <= last; seq++)
        if (history_get(job, seq, &event) && event.seq == seq &&
            !is_worth_storing(job, &event)) /* else it was */
            store_event(jobs, job, &event);
}

/* The first is the second of all events, behind the submission, and the row says it.  Numbers of
 * attempts do not say it: a power cut makes one skip. */
static bool is_second_start(const struct job *job, const struct history_event *event)
{
    struct history_event first, between;
    if (event->seq <= 2 || !history_get(job, 2, &first) || first.what != JOB_EVENT_STARTED)
        return false;
    for (uint32_t seq = 3; history_get(job, seq, &between) && between.seq < event->seq;
         seq = between.seq + 1)
        if (between.what == JOB_EVENT_STARTED)
            return false;
    return true;
}

static void store_told_before(struct jobs *jobs, struct job *job, const struct history_event *event)
{
    if (event->what == JOB_EVENT_RETRIED)
        store_told(jobs, job, event->seq > 3 ? 3 : event->seq - 1);
    else if (event->what == JOB_EVENT_STARTED && is_second_start(job, event))
        store_told(jobs, job, 2);
}

void journal_events(struct jobs *jobs, struct job *job)
{
    struct history_event event;
    if (job->durable == DURABLE_NONE || job->saved == JOB_SAVED_GONE ||
        jobs_table(jobs)->history_max == 0 || (job->is_held && job->row == JOB_NEW))
        return; /* no event is there before the first row */
    for (uint32_t seq = history_stored(job); history_get(job, seq, &event); seq = event.seq + 1) {
        store_told_before(jobs, job, &event);
        if (is_worth_storing(job, &event))
            store_event(jobs, job, &event);
    }
    history_mark_stored(job);
}

/* --- What came back --- */

/* It waited for its row, and goes on; one that was interrupted goes before the others. */
static void go_on(struct jobs *jobs, struct job *job)
{
    job_unmark(job, JOB_AWAITS_ROW);
    job_schedule(jobs_scheduler(jobs), job, job->due == 0);
}

/* All other fields of a life come with an attempt, or with a worker that was lost before it. */
static bool has_no_life(const struct store_op *write)
{
    const struct store_task *row = &write->task;
    return write->kind == STORE_PUT && row->state == JOB_QUEUED && row->attempt == 0 &&
           row->due_at == 0 && row->lost == 0;
}

/* An attempt that was under way as the row was written may end later. */
static void note_row(struct jobs *jobs, struct job *job, const struct store_op *write)
{
    const struct store_task *row = &write->task;
    assert(row->attempt <= job->attempt);
    job->saved = write->kind == STORE_REMOVE                  ? JOB_SAVED_GONE
                 : has_no_life(write)                         ? JOB_SAVED_FIRST
                 : job_state_open((enum job_state)row->state) ? JOB_SAVED_OPEN
                                                              : JOB_SAVED_ENDED;
    job->saved_attempt = row->attempt - (row->state == JOB_RUNNING && row->attempt > 0);
    board_saved(jobs_scheduler(jobs)->board, job);
}

/* Rows that are counted: see `rows_below`. */
static void count_row(struct journal *journal, const struct store_op *write)
{
    const struct store_counts *c = &write->add;
    if (write->task.id < journal->rows_below)
        journal->rows_open +=
            (uint64_t)(c->submitted - c->done - c->failed - c->cancelled - c->expired - c->dead);
}

/* A write that was made before the last submission joined does not count for that. */
static bool is_hardened(const struct job *job, const struct store_op *write)
{
    return job_is(job, JOB_HARDENING) && !job_is(job, JOB_DIRTY) &&
           !(job->effects & EFFECT_WRITE) && (write->kind == STORE_PUT || write->task.anew) &&
           write->task.durable == job->more->hardens;
}

static void end_hardening(struct job *job)
{
    job_unmark(job, JOB_HARDENING | JOB_FROM_MEMORY);
    job->more->joins = (struct job_keep){0};
}

static void harden(struct jobs *jobs, struct job *job)
{
    end_hardening(job);
    table_set_durable(jobs_table(jobs), job, job->more->hardens);
}

static void row_saved(struct jobs *jobs, struct job *job, const struct store_op *write)
{
    unsigned effects = write->task.cancel_asked ? EFFECT_CANCEL_SAVED : 0;
    count_row(jobs_journal(jobs), write);
    note_row(jobs, job, write);
    if (write->kind == STORE_PUT)
        job_unmark(job, JOB_SUBMITTING);
    if (is_hardened(job, write)) {
        harden(jobs, job);
        effects |= EFFECT_SAVED;
    } else if (write->kind == STORE_PUT && !job_is(job, JOB_HARDENING)) {
        effects |= EFFECT_SAVED;
    }
    if (job_is(job, JOB_DIRTY) && job->pending == 0)
        push_row(jobs, job);
    if (job->pending == 0 && !job_is(job, JOB_UNSAVED | JOB_DIRTY)) {
        if (job_is(job, JOB_ENDING))
            job_end_saved(jobs_scheduler(jobs), job);
        else if (job_is(job, JOB_AWAITS_ROW) && job_may_begin(job))
            go_on(jobs, job);
        effects |= EFFECT_CANCEL_SAVED;
    }
    job->save_error = STORE_OK;
    if (effects && (job->waits || (effects & EFFECT_SAVED && durable_is_awaited(job->durable))))
        job_effect(jobs_table(jobs), job, effects);
}

static void go_on_in_memory(struct jobs *jobs, struct job *job)
{
    table_set_durable(jobs_table(jobs), job, DURABLE_NONE);
    job_unmark(job, JOB_SUBMITTING | JOB_DIRTY);
    if (job_writes_more(job))
        jobs_scheduler(jobs)->messages.writes_alone(jobs_scheduler(jobs)->messages.arg, job);
    else if (job_is(job, JOB_ENDING))
        job_end_saved(jobs_scheduler(jobs), job);
    else if (job_is(job, JOB_AWAITS_ROW))
        go_on(jobs, job);
    board_saved(jobs_scheduler(jobs)->board, job);
}

/* The file will never take its row. */
static void give_up(struct jobs *jobs, struct job *job)
{
    log_error("task is not durable", LOG_UINT("id", job->id),
              LOG_STR("text", "the store refused its row; it lives as long as this process"));
    go_on_in_memory(jobs, job);
}

/* Submissions that joined it are refused, and it is as durable as before: so it may begin, if it
 * was not fsync.  True: it was in no file, and is in none now.  If the file took its
 * first row, and refused a later write, the job stays in the file, as async. */
static bool soften(struct jobs *jobs, struct job *job)
{
    bool memory = job_is(job, JOB_FROM_MEMORY) && job->saved == JOB_SAVED_NOTHING;
    end_hardening(job);
    job_effect(jobs_table(jobs), job, EFFECT_SAVED);
    if (!memory) {
        if (job_is(job, JOB_AWAITS_ROW) && job_may_begin(job))
            go_on(jobs, job);
        return false;
    }
    go_on_in_memory(jobs, job);
    job->row = JOB_NEW;
    return true;
}

/* Then the row is written without them. */
static bool was_refused_with_more(struct job *job)
{
    bool was = job->is_message ? job_message(job)->refused : job->more && job->more->sends_refused;
    if (was && job->is_message)
        job_message(job)->refused = false;
    else if (was)
        job->more->sends_refused = false;
    return was;
}

static void row_failed(struct jobs *jobs, struct job *job, const struct store_op *write)
{
    bool taken_back = write->kind == STORE_PUT && durable_is_awaited(job->durable);
    job->counted = (uint8_t)write->tag;
    if (write->task.anew)
        job_mark(job, JOB_REWRITE);
    job->save_error = (uint8_t)write->error;
    if (job->more && job->more->checkpoint)
        job->more->checkpoint_unsaved = true;
    job_effect(jobs_table(jobs), job, EFFECT_CANCEL_SAVED | (taken_back ? EFFECT_SAVED : 0));
    if (taken_back || (job_is(job, JOB_HARDENING) && soften(jobs, job)))
        return;
    if (write->error == STORE_REFUSED && !was_refused_with_more(job)) {
        give_up(jobs, job);
        return;
    }
    mark_unsaved(jobs, job);
    if (job_state_open((enum job_state)job->state) && job_is(job, JOB_ENDING | JOB_AWAITS_ROW))
        job_set_state(jobs_table(jobs), job, (enum job_state)job->state, JOB_WHY_STORE);
}

static void row_back(struct jobs *jobs, struct store_op *write)
{
    struct job *job = write->owner;
    journal_notice(jobs, write);
    assert(job->pending > 0 && table_find(jobs_table(jobs), job->id) == job);
    job->pending--;
    if (write->error == STORE_OK)
        row_saved(jobs, job, write);
    else
        row_failed(jobs, job, write);
}

/* --- Held jobs --- */

void journal_hold(struct jobs *jobs, struct job *job)
{
    (void)jobs;
    assert(job->pending == 0 && job->row == JOB_NEW && job_is(job, JOB_SUBMITTING));
    job->pending = 1; /* as if its row were under way */
    job->is_held = 1;
}

static void held_back(struct jobs *jobs, struct store_op *write)
{
    struct job *job = write->owner;
    if (write->error == STORE_OK) {
        job->is_held = 0;
        row_back(jobs, write);
        job_effect(jobs_table(jobs), job, EFFECT_HISTORY);
        return;
    }
    job->counted = (uint8_t)write->tag;
    job->row = JOB_NEW;
}

bool journal_add_held(struct jobs *jobs, struct store_op *group, struct job *const *held,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct job *job = held[i];
        assert(job->is_held && job->row == JOB_NEW);
        struct store_op *row = codec_write(jobs, job, held_back);
        if (!row)
            return false;
        job_unmark(job, JOB_DIRTY);
        codec_group_add(group, row);
    }
    return true;
}

void journal_push_held(struct jobs *jobs, struct job *job, uint64_t taken)
{
    assert(job->is_held && job->row == JOB_NEW && job->pending == 1);
    struct store_op *write = codec_write(jobs, job, row_back);
    if (!write) {
        journal_let_go(jobs, job, STORE_MEMORY);
        return;
    }
    write->task.taken = taken;
    job->is_held = 0;
    job_unmark(job, JOB_DIRTY);
    push(jobs, job, write, write);
    job_effect(jobs_table(jobs), job, EFFECT_HISTORY);
}

void journal_let_go(struct jobs *jobs, struct job *job, enum store_error error)
{
    assert(job->is_held && job->row == JOB_NEW && job->pending == 1);
    job->pending = 0;
    job->is_held = 0;
    job->save_error = (uint8_t)error;
    job_unmark(job, JOB_DIRTY);
    job_effect(jobs_table(jobs), job, EFFECT_SAVED | EFFECT_CANCEL_SAVED);
}

uint32_t journal_take(struct jobs *jobs)
{
    uint32_t taken = 0;
    struct store_op *write;
    assert(!activator_current() || activator_current() == jobs_activator(jobs));
    if (!jobs_store(jobs))
        return 0;
    for (; taken < JOURNAL_BATCH && (write = store_take(jobs_store(jobs))); taken++)
        codec_write_back(jobs, write);
    store_release(jobs_store(jobs));
    return taken;
}

/* --- Once more --- */

/* Does it probe the store?  A row that is held back does not. */
static bool push_again(struct jobs *jobs, struct job *job)
{
    uint32_t before = job->pending;
    return !push_row(jobs, job) || job->pending > before;
}

/* While the store fails, only one is tried; when it has come back written, the others follow. */
ao_time journal_resave(struct jobs *jobs)
{
    struct journal *journal = jobs_journal(jobs);
    int budget = jobs_store_usable(jobs) ? RESAVE_AHEAD : 1, visits = RESAVE_VISITS;
    struct job *job = journal->unsaved_at ? journal->unsaved_at : jobs_table(jobs)->first;
    assert(journal->unsaved == 0 || jobs_store(jobs));
    if (journal->unsaved == 0) {
        journal->error = STORE_OK; /* the next submission finds out */
        return AO_NEVER;
    }
    for (; job && budget > 0 && visits > 0; job = job->all_next, visits--)
        if (job_is(job, JOB_UNSAVED) && push_again(jobs, job))
            budget--;
    journal->unsaved_at = job;
    return jobs_store_usable(jobs) || visits == 0 ? AO_MS(1) : AO_MS(RETRY_MS);
}
