#include "server/jobs/life/attempts.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/prefetch.h"
#include "proto/pack.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/sched/admission.h"
#include "server/jobs/sched/board.h"
#include "server/jobs/sched/queueing.h"
#include "server/jobs/sched/quarantine.h"
#include "server/jobs/sched/result_refs.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/pool_rest.h"
#include "server/jobs/sched/spans.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/task.h"
#include "server/tasks/turn.h"

enum {
    TAKE_BUDGET = 256, /* jobs looked at for one that may start */
    LOWEST_OUT = 8,    /* of the lowest priority, of each pool, that have not begun */
    MEMORY_PAUSE_MS = 100
};

/* The clock is looked at once a round. */
static bool asks(const struct scheduler *s)
{
    if (s->gate != GATE_ASKS)
        return false;
    return s->asked == table_now(s->table) ? s->acts : s->may_begin(s->may_begin_arg);
}

bool attempts_ready(const struct scheduler *s, uint32_t pool, uint32_t room)
{
    (void)room;
    const struct pool_jobs *jobs = pool_table_find(&s->pools, pool);
    return (s->gate == GATE_OPEN || asks(s)) && jobs && jobs->queue.count > 0 &&
           pool_rest_allows(jobs, table_now(s->table));
}

/* --- The start --- */

/* Without memory, or a place on the board: later. */
static void put_off(struct scheduler *s, struct job *job)
{
    job->due = table_time_after(s->table, AO_MS(MEMORY_PAUSE_MS));
    job_set_state(s->table, job, JOB_DELAYED, JOB_WHY_DELAY);
}

static bool is_nil(struct span raw)
{
    return raw.len == 1 && raw.at[0] == 0xc0;
}

/* An attempt gets the state of an actor, or a checkpoint, beside its parameters.  False
 * without memory. */
static bool turn_of(struct scheduler *s, struct job *job, struct attempt_turn **turn)
{
    const struct span nobody = {0};
    struct blob *checkpoint = job->more ? job->more->checkpoint : NULL;
    if (job->is_message)
        *turn = s->messages.begins(s->messages.arg, job);
    else if (checkpoint && !is_nil(blob_bytes(checkpoint)))
        *turn = turn_new(nobody, blob_bytes(checkpoint), checkpoint);
    else
        return true;
    return *turn != NULL;
}

/* Nothing is counted before its handler has begun: see out.h. */
static bool assign(struct scheduler *s, struct job *job, struct attempt_spec *run)
{
    bool kept = s->board && job->durable != DURABLE_NONE;
    struct board_place *place = kept ? board_take(s->board, job, job->attempt + 1) : NULL;
    struct attempt_turn *turn = NULL;
    bool has_turn = turn_of(s, job, &turn);
    out_add(s, job);
    if ((kept && !place) || !has_turn) {
        if (!job->is_message)
            turn_free(turn);
        out_undo(s, job, place ? &place->slot->mark : NULL);
        put_off(s, job);
        return false;
    }
    *run = (struct attempt_spec){
        .method = job->queue->method,
        .params = result_refs_params(job),
        .deadline = job->deadline,
        .timeout = job->timeout,
        .id = job->id,
        .batches = {job_batch(job), s->members.called_by(s->members.arg, job)},
        .ready = job->ready,
        .attempt = job->attempt + 1,
        .mark = place ? &place->slot->mark : NULL,
        .turn = turn,
        .owner = job,
        .trace = spans_link(s, job)};
    job_set_state(s->table, job, JOB_ASSIGNED, JOB_WHY_ASSIGNED);
    return true;
}

/* False: it has ended, since a result that its parameters name is not there, or comes again. */
static bool fill_params(struct scheduler *s, struct job *job)
{
    char text[JOB_TEXT_MAX];
    enum ergon_error wrong = result_refs_fill(s, job, text, sizeof text);
    if (wrong == ERGON_E_MEMORY) {
        put_off(s, job);
        admission_release(s, job);
    } else if (wrong != ERGON_OK) {
        job_end(s, job, JOB_FAILED, error_name(wrong), text);
    }
    return wrong == ERGON_OK;
}

/* It was submitted before its method became one of actors. */
static void end_without_actor(struct scheduler *s, struct job *job)
{
    char text[JOB_TEXT_MAX];
    submit_without_actor_text(job->queue->method, text, sizeof text);
    job_end(s, job, JOB_FAILED, error_name(ERGON_E_BAD_PARAMS), text);
}

/* False: it was sent somewhere else. */
static bool may_start(struct scheduler *s, struct job *job)
{
    if (job->deadline <= table_now(s->table)) {
        job_end(s, job, JOB_EXPIRED, "DEADLINE", "its deadline passed before it was done");
        return false;
    }
    if (job->attempt >= JOB_COUNT_MAX) {
        job_end(s, job, JOB_DEAD, "ATTEMPTS", "it has had as many attempts as there are numbers");
        return false;
    }
    if (!job->is_message && method_actor(job->queue->method)) {
        end_without_actor(s, job);
        return false;
    }
    if (job_names_results(job) && !fill_params(s, job))
        return false;
    if (job->queue->paused) {
        job_hold(s, job, HELD_PICKED, JOB_WHY_PAUSED);
        admission_release(s, job); /* others of its keys go on */
        return false;
    }
    if (!quarantine_take(s, job))
        return false;
    if (admission_take(s, job))
        return true;
    quarantine_leave(s, job);
    return false;
}

/* A pool has few attempts of the lowest priority, that of actors' steps, out at a time.  So a call
 * that comes meanwhile waits for some 100 us of them.  out_began() says when there are fewer. */
static bool lowest_wait(struct scheduler *s, struct pool_jobs *jobs)
{
    if (jobs->assigned_at[0] < LOWEST_OUT || fair_queue_top(&jobs->queue) != 0)
        return false;
    for (struct job *job; (job = jobs->assigned.first) && out_has_begun(s, job);)
        ;
    return jobs->assigned_at[0] >= LOWEST_OUT;
}

/* The first jobs have waited so long that no cache has them: they come back while others begin. */
static void look_ahead(const struct job *next)
{
    if (!next)
        return;
    prefetch(next->next, sizeof *next + JOB_BODY_STEP);
    if (next->is_message)
        prefetch(job_message(next)->actor, MESSAGE_ACTOR_LINES * PREFETCH_LINE);
}

bool attempts_take(struct scheduler *s, uint32_t pool, struct attempt_spec *run)
{
    for (int budget = TAKE_BUDGET; budget > 0; budget--) {
        scheduler_admit(s); /* what the last one gave back, another may have got */
        struct pool_jobs *jobs = pool_table_find(&s->pools, pool);
        bool rests = !jobs || !pool_rest_allows(jobs, table_now(s->table)) || lowest_wait(s, jobs);
        struct job *job = rests ? NULL : fair_queue_take(&jobs->queue);
        if (!job)
            return false;
        assert(job_is(job, JOB_ENQUEUED) && queue_pool(job->queue) == pool);
        assert(job->state == JOB_QUEUED && !job_is(job, JOB_CANCEL));
        job_unmark(job, JOB_ENQUEUED);
        look_ahead(fair_queue_likely(&jobs->queue, job));
        if (!may_start(s, job))
            continue;
        fair_queue_served(&jobs->queue, job, table_now(s->table));
        if (assign(s, job, run)) {
            pool_rest_taken(s, jobs, job);
            return true;
        }
    }
    job_source_wake(s->tasks, pool);
    return false;
}

void attempts_given(struct scheduler *s, struct job *job, struct task *t,
                    const struct attempt_mark *mark)
{
    assert(out_is_assigned(s, job) && !job->attempt_task);
    if (t) {
        job->attempt_task = t;
        return;
    }
    out_undo(s, job, mark);
    put_off(s, job);
}

/* --- The return --- */

/* The attempt was to stop, and stopped, or its worker was lost: that is no late answer. */
static bool is_no_answer(const struct attempt_end *r)
{
    return r->loss != LOSS_NONE || r->outcome->error == ERGON_E_DEADLINE ||
           r->outcome->error == ERGON_E_CANCELLED;
}

static void orphan_returned(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    char text[96];
    assert(job->orphans > 0);
    job->orphans--;
    if (!is_no_answer(r)) {
        counter_add(&s->fenced, 1);
        snprintf(text, sizeof text, "attempt %u returned late, and its answer was thrown away",
                 r->attempt);
        job_note(s->table, job, JOB_EVENT_FENCED, text);
    }
    admission_release_orphan(s, job);
    limit_note_late(job);
    quarantine_returned(s, job);
}

/* While the next attempt is out and has not begun, the last number is that of one that was given
 * up.
 */
static bool is_current(const struct scheduler *s, const struct job *job, uint32_t attempt)
{
    return job->attempt_task && job->attempt == attempt && !out_is_assigned(s, job);
}

/* A pool whose workers die rests; but not where a handler of this process runs its jobs, too. */
static bool may_rest(const struct job *job)
{
    const struct method *m = job->queue->method;
    return !m || !(m->joined || (m->spread && !m->elsewhere));
}

/* It was given to a worker that was lost before it was sent: as if it had been taken back. */
static void unsent(struct scheduler *s, struct job *job, const struct attempt_mark *mark)
{
    out_undo(s, job, mark);
    job_list_push(&s->granted, job);
}

static void lost(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    struct pool_jobs *pool = pool_table_of(&s->pools, job);
    if (r->loss == LOSS_UNSENT)
        pool_rest_left(s, pool, job);
    else if (may_rest(job))
        pool_rest_lost(s, pool, job);
    loss_settle(s, job, r);
}

static void answered(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    pool_rest_answered(s, pool_table_of(&s->pools, job));
    outcome_returned(s, job, r);
}

static void settle(struct scheduler *s, struct job *job, const struct attempt_end *r)
{
    if (job->is_message)
        s->messages.back(s->messages.arg, job, r->turn);
    result_refs_unfill(s, job);
}

void attempts_returned(struct scheduler *s, const struct attempt_end *r)
{
    struct job *job = r->owner;
    bool is_assigned = out_is_assigned(s, job) && r->attempt == job->attempt + 1;
    assert(r->attempt > 0 && r->attempt <= job->attempt + is_assigned);
    if (is_assigned && r->loss == LOSS_UNSENT) {
        unsent(s, job, r->mark);
        return;
    }
    if (is_assigned)
        out_began(s, job, r->began);
    board_returned(s->board, job, r->mark);
    spans_returned(s, job, r);
    if (!is_current(s, job, r->attempt)) {
        orphan_returned(s, job, r);
        settle(s, job, r);
        return;
    }
    job->attempt_task = NULL;
    job->until = AO_NEVER;
    job_list_remove(job);
    admission_release_permit(s, job);
    quarantine_leave(s, job);
    if (r->loss != LOSS_NONE)
        lost(s, job, r);
    else
        answered(s, job, r);
    settle(s, job, r);
}

/* --- What handlers say meanwhile --- */

/* NULL for none, or without memory. */
static char *text_of(struct span text)
{
    char *copy = text.len > 0 ? malloc(text.len + 1) : NULL;
    if (!copy)
        return NULL;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return copy;
}

static void keep_progress(struct scheduler *s, struct job *job, const struct attempt_note *note)
{
    size_t was = job_bytes(job);
    struct job_more *more = job_more(job);
    if (!more)
        return;
    more->progress_done = note->done;
    more->progress_total = note->total;
    free(more->progress_text);
    more->progress_text = text_of(note->text);
    table_weigh(s->table, job, was);
}

/* It is on disk with the next write of the row, which is made for it. */
static void keep_checkpoint(struct scheduler *s, struct job *job, struct span value)
{
    size_t was = job_bytes(job);
    struct job_more *more = job_more(job);
    struct blob *kept = more ? blob_copy(value) : NULL;
    if (!kept) /* the next attempt goes on from the one before */
        return;
    blob_unref(more->checkpoint);
    more->checkpoint = kept;
    more->checkpoint_unsaved = job->durable != DURABLE_NONE;
    table_weigh(s->table, job, was);
    if (more->checkpoint_unsaved)
        job_effect(s->table, job, EFFECT_WRITE);
}

static void note_progress(struct scheduler *s, struct job *job, const struct attempt_note *note)
{
    struct pack data;
    pack_init(&data);
    pack_map(&data, 2);
    pack_key_uint(&data, "done", note->done);
    pack_key_uint(&data, "total", note->total);
    keep_progress(s, job, note);
    job_note_event(s->table, job,
                   (struct history_event){
                       .what = JOB_EVENT_PROGRESS, .text = note->text, .data = pack_bytes(&data)});
    pack_fini(&data);
}

void attempts_noted(struct scheduler *s, const struct attempt_note *note)
{
    struct job *job = note->owner;
    if (job->attempt_task)
        out_show(s, job);
    if (!is_current(s, job, note->attempt))
        return;
    if (note->kind == NOTE_CHECKPOINT)
        keep_checkpoint(s, job, note->data);
    else if (note->kind == NOTE_PARTIAL)
        job_note_event(s->table, job,
                       (struct history_event){.what = JOB_EVENT_PARTIAL, .data = note->data});
    else
        note_progress(s, job, note);
}

void attempts_full(struct scheduler *s, uint32_t pool, bool full)
{
    struct pool_jobs *jobs = full ? pool_table_get(&s->pools, pool, s->settings->ageing)
                                  : pool_table_find(&s->pools, pool);
    if (!jobs) /* without memory no job is taken back for one that goes before it */
        return;
    jobs->full = full;
    out_overtake(s, jobs);
}

/* --- The stop --- */

static void begin_nothing(struct scheduler *s)
{
    s->stopping = true;
    s->gate = GATE_SHUT;
}

void attempts_stop(struct scheduler *s, bool cancel)
{
    begin_nothing(s);
    out_recall_all(s);
    for (struct job *job = cancel ? s->running.first : NULL; job; job = job->next)
        if (job->attempt_task)
            attempt_flag(s->tasks, job->attempt_task, ATTEMPT_CANCEL);
}

void attempts_end(struct scheduler *s)
{
    struct job *next;
    begin_nothing(s);
    out_recall_all(s);
    scheduler_admit(s);
    for (struct job *job = s->running.first; job; job = next) {
        next = job->next;
        board_end(job);
        if (job_is(job, JOB_CANCEL)) {
            job_end(s, job, JOB_CANCELLED, NULL, NULL);
            continue;
        }
        job_note(s->table, job, JOB_EVENT_INTERRUPTED, NULL);
        job->due = 0;
        job_set_state(s->table, job, JOB_QUEUED, JOB_WHY_STOPPING);
    }
}
