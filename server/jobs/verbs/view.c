/* task.get, task.list, and the packing and filtering of tasks that other operations use. */
#include "server/jobs/verbs/view.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/core/history.h"
#include "server/jobs/core/history_reload.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/message.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/sched/out.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/verbs/attempt_view.h"

enum {
    VISITS = 10000,               /* jobs visited for one page at most, so that it comes soon */
    VIEW_WORK = 16,               /* to pack a job; see jobs_worked() */
    BYTES_A_PIECE = 64,           /* of a history */
    LIST_HEAD = 5,                /* bytes of the head of an array of any length */
    HEAD_AT = sizeof "tasks" + 1, /* after the head of the map and its first key */
};

size_t view_array_begin(struct pack *p)
{
    static const uint8_t head[LIST_HEAD] = {0xdd};
    size_t at = p->buffer.size;
    pack_raw(p, span_of(head, sizeof head));
    return at;
}

void view_array_end(struct pack *p, size_t at, uint32_t count)
{
    assert(p->failed || (uint8_t)p->buffer.data[at] == 0xdd);
    for (unsigned i = 1; i < LIST_HEAD && !p->failed; i++)
        p->buffer.data[at + i] = (char)(count >> (8 * (LIST_HEAD - 1 - i)));
}

void view_list_begin(struct pack *p)
{
    pack_init(p);
    view_array_begin(p);
}

void view_list_end(struct pack *p, uint32_t count)
{
    view_array_end(p, 0, count);
}

void view_stage(struct jobs *jobs, struct job *job)
{
    out_show(jobs_scheduler(jobs), job);
}

static void pack_progress(struct pack *p, const struct job_more *more)
{
    pack_str(p, "progress");
    if (!more || (more->progress_total == 0 && more->progress_done == 0 && !more->progress_text)) {
        pack_nil(p);
        return;
    }
    pack_map(p, 3);
    pack_key_uint(p, "done", more->progress_done);
    pack_key_uint(p, "total", more->progress_total);
    pack_key_str(p, "text", more->progress_text);
}

static void pack_error(struct pack *p, const struct job *job)
{
    char text[JOB_LINE_MAX];
    job_end_text(job, text);
    pack_key_str(p, "error", text[0] ? text : NULL);
}

static void pack_result(struct pack *p, const struct job_result *end, bool hidden)
{
    pack_str(p, "result");
    if (end && end->result && !hidden)
        pack_blob(p, end->result);
    else
        pack_nil(p);
    pack_key_bool(p, "cut", end && end->cut);
    if (hidden)
        pack_key_bool(p, "result_hidden", true);
}

void view_event(const struct history_event *event, unsigned sees, struct pack *p)
{
    pack_map(p, 7);
    pack_key_uint(p, "seq", event->seq);
    view_ms(p, "at", event->at);
    pack_key_str(p, "event", job_event_name((enum job_event)event->what));
    pack_key_uint(p, "attempt", event->attempt);
    bool waits = job_event_is_wait((enum job_event)event->what) && event->reason < JOB_REASON_COUNT;
    pack_key_str(p, "reason", waits ? job_reason_name((enum job_reason)event->reason) : NULL);
    view_name(p, "text", event->text);
    if (history_has_traceback(event->what)) {
        attempt_pack_traceback(p, attempt_traceback(event), sees);
        return;
    }
    pack_str(p, "data");
    if (event->data.len > 0 && sees & SEES_RESULTS)
        pack_raw(p, event->data);
    else
        pack_nil(p);
}

static void pack_history(struct pack *p, const struct job *job, unsigned sees)
{
    struct history_event event;
    uint32_t count = 0;

    for (uint32_t seq = 1; history_get(job, seq, &event); seq = event.seq + 1)
        count++;
    pack_str(p, "history");
    pack_array(p, count);
    for (uint32_t seq = 1; history_get(job, seq, &event); seq = event.seq + 1)
        view_event(&event, sees, p);
}

/* Not of a step that sleeps until it is woken. */
static bool is_timed(const struct job *job)
{
    return job->state == JOB_DELAYED && job->due != AO_NEVER;
}

static void pack_times(struct jobs *jobs, struct pack *p, const struct job *job)
{
    view_ms(p, "created", job->created);
    view_ms(p, "due", is_timed(job) ? table_wall_of(jobs_table(jobs), job->due) : 0);
    view_ms(p, "started", job->started);
    view_ms(p, "ended", job_is_open(job) ? 0 : job->ended);
    view_ms(p, "deadline", job->deadline_at);
}

/* The id of the task that it had to run after and whose failure made it fail; 0: there is none. */
static uint64_t after_failed(const struct jobs *jobs, const struct job *job)
{
    const struct job_more *more = job->more;
    bool failed = more && job->end && job->end->code && strcmp(job->end->code, "AFTER") == 0;
    if (!failed || more->after_failed > 0)
        return failed ? more->after_failed : 0;
    for (uint32_t i = 0; i < more->after_count; i++) { /* read from the store after its end */
        const struct job *on = table_find(jobs_table(jobs), more->after_ids[i]);
        if (on && !job_state_open((enum job_state)on->state) && on->state != JOB_DONE)
            return on->id;
    }
    return 0;
}

const struct job *view_after_failed(const struct jobs *jobs, const struct operation *op,
                                    const struct job *job)
{
    uint64_t id = after_failed(jobs, job);
    const struct job *on = id ? table_find(jobs_table(jobs), id) : NULL;
    return on && operation_may_name(op, job, on) ? on : NULL;
}

enum job_reason view_reason(const struct job *job)
{
    enum job_reason reason = limits_reason(job);
    return reason == JOB_WHY_ACTOR ? message_reason(job) : reason;
}

/* A task that is done needs none. */
static bool has_checkpoint(const struct job *job)
{
    return job->more && job->more->checkpoint && job->state != JOB_DONE;
}

/* Its size is no secret, as that of the parameters is none. */
static void pack_checkpoint(struct pack *p, const struct job *job, unsigned parts, bool hidden)
{
    struct span value = blob_bytes(job->more->checkpoint);
    pack_key_uint(p, "checkpoint_size", value.len);
    if (parts & VIEW_RESULT)
        pack_key_raw(p, "checkpoint", hidden ? span_text("\xc0") : value);
}

static unsigned checkpoint_pairs(const struct job *job, unsigned parts)
{
    return has_checkpoint(job) ? 1u + (parts & VIEW_RESULT ? 1 : 0) : 0;
}

void view_job(struct jobs *jobs, const struct operation *op, struct job *job, unsigned parts,
              struct pack *p)
{
    char id[ID_TEXT_SIZE];
    const struct job *failed = view_after_failed(jobs, op, job);
    unsigned sees = parts ? operation_sees(op, job) : 0;
    bool hidden = !(sees & SEES_RESULTS);
    const struct member_hooks *members = &jobs_scheduler(jobs)->members;
    uint64_t callback_of = members->called_by(members->arg, job);

    jobs_worked(jobs, VIEW_WORK);
    view_stage(jobs, job);
    pack_map(p, 21u + job->is_message + job->in_batch + (callback_of > 0) +
                    (job_reminder(job) ? 2u : 0) + (failed != NULL) + checkpoint_pairs(job, parts) +
                    (parts & VIEW_RESULT ? 2u + hidden : 0) + (parts & VIEW_HISTORY ? 1 : 0) +
                    (parts & VIEW_ATTEMPTS ? 1 : 0) + contents_pairs(parts));
    pack_key_str(p, "id", id_text(job->id, id));
    pack_key_span(p, "method", job->queue->name);
    pack_key_str(p, "state", job_state_names[job->state]);
    pack_key_str(p, "reason", job_reason_name(view_reason(job)));
    pack_key_uint(p, "attempt", job->attempt);
    pack_key_uint(p, "failures", job->failures);
    pack_key_uint(p, "retries", job->retries);
    pack_key_uint(p, "crashes", job->crashes);
    pack_key_uint(p, "losses", job_losses(job));
    pack_key_uint(p, "priority", job->priority);
    pack_key_span(p, "tenant", job->tenant->name);
    if (job->is_message)
        pack_key_span(p, "actor", message_actor(job));
    if (job->in_batch)
        pack_key_str(p, "batch", id_batch_text(job_batch(job), id));
    if (callback_of > 0)
        pack_key_str(p, "callback_of", id_batch_text(callback_of, id));
    view_name(p, "key", job->more ? job->more->key.name : (struct span){0});
    pack_key_str(p, "durable", job_durable_names[job->durable]);
    pack_key_str(p, "traceparent", job->more && job->more->trace ? job->more->trace->text : NULL);
    pack_times(jobs, p, job);
    pack_progress(p, job->more);
    pack_error(p, job);
    if (job_reminder(job)) {
        pack_key_span(p, "reminder", job_reminder_name(job));
        view_ms(p, "every", job_reminder(job)->every);
    }
    if (failed)
        pack_key_str(p, "after_failed", id_text(failed->id, id));
    if (parts & VIEW_RESULT)
        pack_result(p, job->end, hidden);
    if (has_checkpoint(job))
        pack_checkpoint(p, job, parts, hidden);
    if (parts & VIEW_HISTORY) {
        history_complete(jobs_table(jobs), job);
        pack_history(p, job, sees);
        jobs_worked(jobs, history_bytes(job) / BYTES_A_PIECE);
    }
    if (parts & VIEW_ATTEMPTS) {
        history_complete(jobs_table(jobs), job);
        attempts_pack(jobs_table(jobs), job, sees, p);
        jobs_worked(jobs, history_bytes(job) / BYTES_A_PIECE);
    }
    contents_pack(jobs, op, job, parts, p);
}

/* --- task.get --- */

/* Long parameters are copied in turns with other operations.  Meanwhile it waits for the job, which
 * is not forgotten so. */
static bool go_on_copying(struct jobs *jobs, struct operation *op)
{
    const struct job *job = op->waiting.at->job;

    if (!contents_copy(jobs, job, &op->job.copy, &op->reply.result))
        return false;
    waiters_leave(op);
    operation_finish(op);
    return true;
}

static bool serve_get(struct jobs *jobs, struct operation *op)
{
    if (op->begun)
        return go_on_copying(jobs, op);
    struct job *job = operation_find_job(jobs, op, op->job.id);
    if (!job)
        return true;
    pack_init(&op->reply.result);
    view_job(jobs, op, job, op->job.parts, &op->reply.result);
    if (!(op->job.parts & VIEW_PARAMS) || !contents_are_long(op, job)) {
        operation_finish(op);
        return true;
    }
    if (!waiters_join(op, job)) {
        operation_refuse_plain(op, ERGON_E_MEMORY);
        return true;
    }
    op->begun = true;
    return go_on_copying(jobs, op);
}

static void fini_get(struct operation *op)
{
    free(op->job.copy.at);
}

const struct operation_class operation_task_get = {.method = method_task_get,
                                                   .shows_contents = true,
                                                   .serve_part = serve_get,
                                                   .fini = fini_get,
                                                   .dropped = waiters_drop};

/* --- Filters --- */

static bool fits_names(const struct task_filter *f, const struct job *job)
{
    struct span key = job->more ? job->more->key.name : (struct span){0};
    return filter_fits_name(f->method, job->queue->name) &&
           filter_fits_name(f->tenant, job->tenant->name) && filter_fits_name(f->key, key) &&
           (f->batch == 0 || f->batch == job_batch(job)) &&
           (f->actor.len == 0 || (job->is_message && span_equal(message_actor(job), f->actor)));
}

bool filter_fits(struct jobs *jobs, const struct operation *op, const struct task_filter *filter,
                 struct job *job, uint64_t now)
{
    uint64_t age = now > job->created ? now - job->created : 0;
    if ((filter->older > 0 && age < filter->older) || (filter->newer > 0 && age > filter->newer) ||
        !operation_may_know(op, job) || !fits_names(filter, job))
        return false;
    if (filter->state < 0)
        return true;
    view_stage(jobs, job);
    return filter->state == job->state;
}

/* --- task.list: one page of tasks, newest first, in turns with other operations --- */

/* Packs the head of the array without its length, which end_page() writes. */
static void begin_page(struct jobs *jobs, struct operation *op)
{
    struct list_arguments *l = &op->list;
    const struct job *before = l->cursor > 0 ? table_find(jobs_table(jobs), l->cursor) : NULL;

    op->begun = true;
    l->now = table_wall(jobs_table(jobs));
    l->seeks = l->cursor > 0 && !before;
    walk_begin(&jobs_table(jobs)->walks, &l->walk,
               before ? before->all_prev : jobs_table(jobs)->last, true);
    walk_begin(&jobs_table(jobs)->walks, &l->up, l->seeks ? jobs_table(jobs)->first : NULL, false);
    if (l->contains.is.text.len > 0)
        search_init(&l->contains.is, l->contains.is.text);
    pack_init(&op->reply.result);
    pack_map(&op->reply.result, 2);
    pack_str(&op->reply.result, "tasks");
    view_array_begin(&op->reply.result);
}

/* The task of the cursor is forgotten: finds the task with the next lower id, with which the page
 * begins.  It seeks from both ends of the table, since old tasks are forgotten first. */
static void seek(struct list_arguments *l)
{
    const struct job *down = l->walk.at, *up = l->up.at;

    if (!down || down->id < l->cursor) {
        l->seeks = false;
    } else if (!up || up->id >= l->cursor) {
        l->walk.at = up ? up->all_prev : NULL;
        l->seeks = false;
    } else {
        walk_next(&l->walk);
        walk_next(&l->up);
    }
}

/* MORE: there is more of the job to look at. */
static enum search_outcome look(struct jobs *jobs, struct operation *op, struct job *job)
{
    struct list_arguments *l = &op->list;

    if (!filter_fits(jobs, op, &l->filter, job, l->now))
        return SEARCH_NO;
    if (l->contains.is.text.len == 0)
        return SEARCH_YES;
    return contents_find(jobs, op, job, &l->contains, &l->visits);
}

static void visit(struct jobs *jobs, struct operation *op)
{
    struct list_arguments *l = &op->list;
    enum search_outcome fits = look(jobs, op, l->walk.at);

    if (fits == SEARCH_MORE)
        return;
    struct job *job = walk_next(&l->walk);
    assert(l->cursor == 0 || job->id < l->cursor); /* the table has its jobs by their ids */
    l->cursor = job->id;
    l->visits++;
    if (fits == SEARCH_NO)
        return;
    view_job(jobs, op, job, l->parts, &op->reply.result);
    l->found++;
}

static bool page_is_full(const struct operation *op)
{
    const struct list_arguments *l = &op->list;

    return !l->walk.at || l->found >= l->max || l->visits >= VISITS ||
           op->reply.result.buffer.size >= LIST_BYTES_MAX;
}

static void end_page(struct jobs *jobs, struct operation *op)
{
    struct list_arguments *l = &op->list;
    struct pack *p = &op->reply.result;
    char id[ID_TEXT_SIZE];

    view_array_end(p, HEAD_AT, l->found);
    pack_key_str(p, "next", l->walk.at ? id_text(l->cursor, id) : NULL);
    walk_end(&jobs_table(jobs)->walks, &l->walk);
    walk_end(&jobs_table(jobs)->walks, &l->up);
    operation_finish(op);
}

static bool serve_list(struct jobs *jobs, struct operation *op)
{
    uint32_t begun = jobs_work(jobs);

    if (!op->begun)
        begin_page(jobs, op);
    while (jobs_work(jobs) - begun < TURN_WORK && (op->list.seeks || !page_is_full(op))) {
        jobs_worked(jobs, 1);
        if (op->list.seeks)
            seek(&op->list);
        else
            visit(jobs, op);
    }
    if (op->list.seeks || !page_is_full(op))
        return false;
    end_page(jobs, op);
    return true;
}

const struct operation_class operation_task_list = {
    .method = method_task_list, .shows_contents = true, .serve_part = serve_list};
