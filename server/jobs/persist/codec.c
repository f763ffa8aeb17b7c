#include "server/jobs/persist/codec.h"

#include <assert.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "proto/job_options.h"
#include "proto/scanner.h"
#include "proto/traceparent.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/history.h"
#include "server/jobs/core/job_spec.h"
#include "server/jobs/core/member.h"
#include "server/jobs/core/message.h"
#include "server/jobs/core/states.h"
#include "server/jobs/core/table.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/journal.h"
#include "server/jobs/sched/lines.h"

static uint64_t wall_or_none(struct jobs *jobs, ao_time when)
{
    return when == AO_NEVER || when == 0 ? 0 : table_wall_of(jobs_table(jobs), when);
}

static void fill_more(const struct job_more *more, struct store_task *out)
{
    out->policy = more->policy;
    job_policy_keep(&out->policy, more->joins);
    out->key = more->key.name;
    out->coalesce = more->coalesce.name;
    if (more->claim.line && more->claim.line->limit) {
        out->limit_key = more->claim.line->limit->key.name;
        out->limit = more->limit_max;
        out->take = more->claim.want > 1 ? more->claim.want : 0;
    }
    if (more->claim.line && more->claim.line->rate) {
        out->rate_key = more->claim.line->rate->key.name;
        out->rate = more->rate;
        out->rate_per = more->rate_per;
    }
    if (more->trace) {
        out->traceparent = span_of(more->trace->text, TRACEPARENT_LEN);
        out->tracestate = more->trace->link.state;
    }
}

/* One that is as by default, or as its type says, has no row of options: see recover.c. */
static bool has_options(const struct job *job)
{
    bool usual =
        job->is_message ? job_message(job)->follows : job->retries == 0 && job->timeout == AO_NEVER;
    return !usual || job->more || job->priority != SPEC_PRIORITY || job->deadline_at > 0;
}

/* The policy of a message without extras is its type's, and is not written: when it is read back it
 * has that of its type then, and needs no extras for it.  Its timeout and retries are its own from
 * then on, as they will be when it is read back. */
static void fill_options(struct job *job, struct store_task *out)
{
    out->has_options = true;
    if (job->is_message)
        job_message(job)->follows = job_message(job)->is_step;
    out->deadline_at = job->deadline_at;
    out->timeout = codec_duration(job->timeout);
    out->policy = (struct job_policy)JOB_POLICY_UNSAID;
    out->retries = job->retries;
    out->priority = job->priority;
    if (job->more)
        fill_more(job->more, out);
}

static void fill_fixed(struct job *job, struct store_task *out)
{
    out->method = job->queue->name;
    out->tenant = job->tenant->name;
    out->params = job_params(job);
    out->created = job->created;
    out->durable = job->durable;
    out->batch = job_batch(job);
    if (job->is_message)
        out->actor = message_actor(job);
    out->reminder = job_reminder_name(job);
    out->every = job_reminder(job) ? job_reminder(job)->every : 0;
    if (job_is(job, JOB_HARDENING)) {
        out->durable = job->more->hardens;
        out->rises = true;
    }
    if (has_options(job) || job_is(job, JOB_REWRITE)) /* the row of options may be there */
        fill_options(job, out);
}

/* A step may sleep until it is woken. */
static uint64_t due_of(struct jobs *jobs, const struct job *job)
{
    return job->due == AO_NEVER ? CODEC_DUE_NEVER : wall_or_none(jobs, job->due);
}

static void fill_changing(struct jobs *jobs, const struct job *job, struct store_task *out)
{
    out->id = job->id;
    out->state = (uint8_t)job_row_state(job);
    out->attempt = job->attempt;
    out->failures = job->failures;
    out->crashes = job->crashes;
    out->losses = job_losses(job);
    out->lost = job->more ? job->more->lost : 0;
    out->settled = job->more && job->more->settled;
    out->cancel_asked = job_is(job, JOB_CANCEL) && job_state_open(job_row_state(job));
    out->due_at = job_state_open(job_row_state(job)) ? due_of(jobs, job) : 0;
    out->boards = jobs_table(jobs)->boards;
    out->started_at = job->started;
    out->ended_at = job_state_open(job_row_state(job)) ? 0 : job->ended;
}

/* The checkpoint that its next write is to have; empty: none. */
static struct span new_checkpoint(const struct job *job)
{
    bool has = job->more && job->more->checkpoint_unsaved && job_row_state(job) != JOB_DONE;
    return has ? blob_bytes(job->more->checkpoint) : (struct span){0};
}

/* The end may be replaced while the operation is on its way, but never that of one with a result.
 */
static void fill_end(const struct job *job, struct store_task *out, char *copy)
{
    const struct job_result *end = job->end;
    if (end && end->code) {
        size_t code = strlen(end->code), text = strlen(end->text);
        out->error_code = span_of(memcpy(copy, end->code, code), code);
        out->error_text = span_of(memcpy(copy + code, end->text, text), text);
    }
    if (end && end->result)
        out->result = blob_bytes(end->result);
}

/* A copy, as the next one may come while the operation is on its way. */
static void fill_checkpoint(const struct job *job, struct store_task *out, char *copy)
{
    struct span checkpoint = new_checkpoint(job);
    if (checkpoint.len > 0)
        out->checkpoint = span_of(memcpy(copy, checkpoint.at, checkpoint.len), checkpoint.len);
}

static size_t error_size(const struct job *job)
{
    return job->end && job->end->code ? strlen(job->end->code) + strlen(job->end->text) : 0;
}

static size_t end_size(const struct job *job)
{
    return error_size(job) + new_checkpoint(job).len;
}

static uint32_t ids_after(const struct job *job)
{
    return job->more ? job->more->after_count + job->more->after_any_count : 0;
}

static void fill_after(const struct job *job, struct store_task *out, uint8_t *copy)
{
    out->after = span_of(copy, job->more->after_count * sizeof(uint64_t));
    out->after_any = span_of(copy + out->after.len, job->more->after_any_count * sizeof(uint64_t));
    for (uint32_t i = 0; i < ids_after(job); i++)
        for (unsigned byte = 0; byte < 8; byte++)
            *copy++ = (uint8_t)(job->more->after_ids[i] >> (56 - 8 * byte));
}

/* --- The counters --- */

static int64_t *counter_of(struct store_counts *counts, enum job_state state)
{
    switch (state) {
    case JOB_DONE:
        return &counts->done;
    case JOB_FAILED:
        return &counts->failed;
    case JOB_CANCELLED:
        return &counts->cancelled;
    case JOB_EXPIRED:
        return &counts->expired;
    case JOB_DEAD:
        return &counts->dead;
    case JOB_QUEUED:
    case JOB_DELAYED:
    case JOB_WAITING:
    case JOB_ASSIGNED:
    case JOB_RUNNING:
    case JOB_PARKED:
    case JOB_STATE_COUNT:
        return NULL;
    }
    return NULL;
}

/* What a row is counted as: its end, or JOB_QUEUED for all that is open. */
static enum job_state account_of(enum job_state state)
{
    return job_state_open(state) ? JOB_QUEUED : state;
}

static void move_counts(struct job *job, struct store_op *write)
{
    enum job_state was = (enum job_state)job->counted;
    enum job_state is = account_of((enum job_state)write->task.state);
    write->tag = was;
    job->counted = (uint8_t)is;
    if (write->tag == JOB_NEW)
        write->add.submitted = 1;
    if (was == is)
        return;
    if (counter_of(&write->add, was))
        --*counter_of(&write->add, was);
    if (counter_of(&write->add, is))
        ++*counter_of(&write->add, is);
}

/* --- The operation --- */

enum { MORE = 128 /* bytes behind an operation for which a cell has room */ };

struct record {
    write_done *done;
    bool alone;      /* malloc'ed, in no slab */
    uint16_t worker; /* reference of task.ran_by */
    struct store_op write;
};

void codec_init(struct jobs *jobs)
{
    slab_init(&jobs_journal(jobs)->writes, sizeof(struct record) + MORE, SLAB_KEPT);
}

void codec_fini(struct jobs *jobs)
{
    assert(slab_taken(&jobs_journal(jobs)->writes) == 0);
    slab_fini(&jobs_journal(jobs)->writes);
}

/* Bytes of an operation of this kind. */
static size_t used(enum store_kind kind)
{
    const struct store_op *op = NULL;
    if (kind == STORE_GROUP)
        return offsetof(struct store_op, group) + sizeof op->group;
    if (kind == STORE_ROW_PUT || kind == STORE_ROW_REMOVE)
        return offsetof(struct store_op, chunk) + sizeof op->chunk;
    return sizeof *op;
}

struct store_op *codec_write_new(struct jobs *jobs, enum store_kind kind, size_t more,
                                 write_done *done)
{
    bool alone = more > MORE;
    struct record *r = alone ? malloc(sizeof *r + more) : slab_take(&jobs_journal(jobs)->writes);
    if (!r)
        return NULL;
    jobs_journal(jobs)->under_way++;
    r->done = done;
    r->alone = alone;
    r->worker = WORKER_LABEL_NONE;
    memset(&r->write, 0, used(kind)); /* many small ones are made */
    r->write.kind = kind;
    return &r->write;
}

struct store_op *codec_row_new(struct jobs *jobs, enum store_kind kind,
                               const struct store_table *table, size_t more, write_done *done)
{
    struct store_op *write = codec_write_new(jobs, kind, more, done);
    if (write)
        write->table = table;
    return write;
}

void codec_write_free(struct jobs *jobs, struct store_op *write)
{
    struct record *r = ao_of(write, struct record, write);
    struct store_op *next;
    for (struct store_op *m = write->kind == STORE_GROUP ? write->group.first : NULL; m; m = next) {
        next = m->next;
        codec_write_free(jobs, m);
    }
    assert(jobs_journal(jobs)->under_way > 0);
    jobs_journal(jobs)->under_way--;
    worker_label_unref(&jobs_table(jobs)->labels, r->worker);
    if (r->alone)
        free(r);
    else
        slab_give(&jobs_journal(jobs)->writes, r);
}

void codec_write_back(struct jobs *jobs, struct store_op *write)
{
    ao_of(write, struct record, write)->done(jobs, write);
    codec_write_free(jobs, write);
}

void codec_member_back(struct jobs *jobs, struct store_op *member)
{
    ao_of(member, struct record, write)->done(jobs, member);
}

void codec_group_undo(struct jobs *jobs, struct store_op *group)
{
    for (struct store_op *m = group->group.first; m; m = m->next) {
        m->error = STORE_MEMORY;
        codec_member_back(jobs, m);
    }
    codec_write_free(jobs, group);
}

void codec_group_add(struct store_op *group, struct store_op *member)
{
    struct store_op **at = &group->group.first;
    while (*at)
        at = &(*at)->next;
    *at = member;
    member->next = NULL;
    group->group.count++;
}

bool codec_is_anew(const struct job *job)
{
    return !job_is(job, JOB_SUBMITTING) && job_is(job, JOB_HARDENING | JOB_REWRITE);
}

/* The text stays as long as the write refers to it. */
static void fill_ran_by(struct jobs *jobs, const struct job *job, struct store_op *write)
{
    struct worker_labels *labels = &jobs_table(jobs)->labels;
    if (job->ran_by == WORKER_LABEL_NONE)
        return;
    worker_label_ref(labels, job->ran_by);
    ao_of(write, struct record, write)->worker = job->ran_by;
    write->task.ran_by = worker_label_text(labels, job->ran_by);
}

/* Nobody asks for a message that was done: so its row goes as it ends, and not soon after.  One
 * with `more` may have a key, or may have been submitted with a `keep`. */
static bool goes(const struct job *job)
{
    return job->is_message && !job->more && job_row_state(job) == JOB_DONE;
}

/* Has the store but one row of it, and no event?  The first start is none that is stored.  What
 * gives it options, or changes them, has its row written again, and that makes one of its life. */
static bool is_bare(const struct job *job)
{
    struct history_event first;
    return job->saved == JOB_SAVED_FIRST && job->pending == 0 && !has_options(job) &&
           !job_message(job)->is_step && history_next(job) == 3 && history_get(job, 2, &first) &&
           first.what == JOB_EVENT_STARTED;
}

static enum store_kind kind_of(const struct job *job, bool put, bool anew)
{
    return put ? STORE_PUT : !anew && goes(job) ? STORE_REMOVE : STORE_CHANGE;
}

struct store_op *codec_write(struct jobs *jobs, struct job *job, write_done *done)
{
    table_look_at_clock(
        jobs_table(jobs)); /* a leap changes what is written: not in the midst of it */
    bool put = job_is(job, JOB_SUBMITTING), anew = codec_is_anew(job);
    assert(job->durable != DURABLE_NONE && job->saved_attempt <= job->attempt);
    size_t after = put || anew ? ids_after(job) * sizeof(uint64_t) : 0;
    struct store_op *write =
        codec_write_new(jobs, kind_of(job, put, anew), after + end_size(job), done);
    if (!write)
        return NULL;
    write->owner = job;
    write->task.bare = write->kind == STORE_REMOVE && is_bare(job);
    write->task.anew = anew;
    write->task.first_life = job->saved == JOB_SAVED_FIRST && job->pending == 0;
    if (put || anew)
        fill_fixed(job, &write->task);
    if (after > 0)
        fill_after(job, &write->task, (uint8_t *)(write + 1));
    fill_changing(jobs, job, &write->task);
    fill_end(job, &write->task, (char *)(write + 1) + after);
    fill_checkpoint(job, &write->task, (char *)(write + 1) + after + error_size(job));
    if (job->more)
        job->more->checkpoint_unsaved = false;
    fill_ran_by(jobs, job, write);
    move_counts(job, write);
    job_unmark(job, JOB_REWRITE);
    job->row = write->task.state;
    job->row_attempt = write->task.attempt;
    return write;
}

struct store_op *codec_cancel(struct jobs *jobs, struct job *job, write_done *done)
{
    struct store_op *write = codec_write_new(jobs, STORE_CHANGE, end_size(job), done);
    if (!write)
        return NULL;
    write->task.first_life = job->saved == JOB_SAVED_FIRST && job->pending == 0;
    fill_changing(jobs, job, &write->task);
    fill_end(job, &write->task, (char *)(write + 1));
    write->task.result = (struct span){0}; /* it stays in the file */
    fill_ran_by(jobs, job, write);
    write->task.cancel_asked = 1;
    return write;
}

/* --- What a row may hold --- */

enum { JITTER_MAX = 100 };

/* Nothing, or one value and no byte more: it goes to handlers and peers as it is. */
static bool is_value(struct span raw)
{
    return raw.len == 0 || value_length(raw) == raw.len;
}

static bool are_earlier(struct span ids, uint64_t id)
{
    for (size_t at = 0; at < ids.len; at += sizeof(uint64_t)) {
        uint64_t on = 0;
        for (unsigned byte = 0; byte < sizeof on; byte++)
            on = on << 8 | ids.at[at + byte];
        if (on == 0 || on >= id)
            return false;
    }
    return true;
}

static bool is_after(struct span ids, uint64_t id)
{
    return ids.len % sizeof(uint64_t) == 0 && ids.len <= JOB_AFTER_MAX * sizeof(uint64_t) &&
           are_earlier(ids, id);
}

static const char *check_options(const struct store_task *row)
{
    if (row->priority > SPEC_PRIORITY_MAX)
        return "its priority is none";
    if (row->backoff_jitter > JITTER_MAX)
        return "its jitter is more than all of the back-off";
    if ((row->limit_key.len > 0) != (row->limit > 0))
        return "its limit has no key, or its key no limit";
    if (row->take > 0 && (row->limit == 0 || row->take > row->limit))
        return "it takes more of its limit than there is";
    if ((row->rate_key.len > 0) != (row->rate > 0) || (row->rate > 0) != (row->rate_per > 0))
        return "its rate has no key, no number, or no time";
    if (!is_after(row->after, row->id) || !is_after(row->after_any, row->id))
        return "what it is to wait for are no tasks before it";
    struct trace_context trace;
    if (row->traceparent.len > 0 && !traceparent_parse(row->traceparent, &trace))
        return "its traceparent is none";
    if (row->tracestate.len > 0 &&
        (row->traceparent.len == 0 || !tracestate_valid(row->tracestate)))
        return "its tracestate is none, or has no traceparent";
    return NULL;
}

const char *row_check_task(const struct store_task *row)
{
    if (row->id == 0 || row->id > STORE_COUNT_MAX)
        return "its number is none";
    if (row->method.len == 0)
        return "it has no method";
    if (row->state >= JOB_STATE_COUNT)
        return "its state is none";
    if (row->durable == DURABLE_NONE)
        return "it is in the file, and its durability says that it is not";
    if (row->attempt > JOB_COUNT_MAX || row->failures > JOB_COUNT_MAX ||
        row->crashes > JOB_COUNT_MAX || row->losses > JOB_COUNT_MAX || row->lost > JOB_COUNT_MAX)
        return "it counts more attempts, failures, crashes or losses than there can be";
    const char *fault = row->actor.len > 0 ? row_check_message(row->actor, row->method) : NULL;
    if (fault)
        return fault;
    if (row->reminder.len > 0 && (row->actor.len == 0 || row->key.len + row->coalesce.len > 0))
        return "it is a reminder of no actor, or has another name besides";
    if (row->reminder.len > 0 && !utf8_is_name(row->reminder, JOB_NAME_MAX))
        return "the name of the reminder is none";
    if (row->every > CODEC_DUE_NEVER)
        return "it never comes again";
    if (row->reminder.len == 0 && row->every > 0)
        return "it comes again, and is no reminder";
    if (row->batch >= row->id || (row->batch > 0 && row->actor.len + row->coalesce.len > 0))
        return "its batch is none, or it can be a member of none";
    if (!is_value(row->params))
        return "its parameters are no MessagePack";
    if (!is_value(row->result))
        return "its result is no MessagePack";
    if (!is_value(row->checkpoint))
        return "its checkpoint is no MessagePack";
    return row->has_options ? check_options(row) : NULL;
}

const char *row_check_event(const struct store_event *row)
{
    if (row->seq == 0 || row->seq > JOB_COUNT_MAX || row->attempt > JOB_COUNT_MAX)
        return "its number is none";
    if (!is_value(row->data))
        return "its data are no MessagePack";
    for (int what = 0; what < JOB_EVENT_COUNT; what++)
        if (span_is(row->what, job_event_name((enum job_event)what)))
            return NULL;
    return "it is none that can happen";
}

const char *row_check_rate(const struct store_rate *row)
{
    enum { PAIR = 2 * sizeof(uint64_t) };
    if (row->id == 0 || row->id > INT64_MAX / 2)
        return "its number is none";
    if (row->key.len == 0)
        return "it has no key";
    if (row->max == 0 || row->per == 0)
        return "it has no number, or no time";
    return row->starts.len % PAIR == 0 ? NULL : "its starts are no pairs";
}

/* Its options are read when the store is, and its parameters go to handlers. */
const char *row_check_cron(const struct store_cron *row)
{
    if (row->name.len == 0)
        return "it has no name";
    if (row->method.len == 0)
        return "it has no method";
    if (!is_value(row->params))
        return "its parameters are no MessagePack";
    return is_value(row->options) ? NULL : "its options are no MessagePack";
}

const char *row_check_semaphore(const struct store_semaphore *row)
{
    if (row->id == 0 || row->id > STORE_FENCE_MAX)
        return "its number is none";
    if (row->name.len == 0)
        return "it has no name";
    return row->permits == 0 ? "it has no permits" : NULL;
}

const char *row_check_hold(const struct store_hold *row)
{
    if (row->id == 0 || row->id > STORE_FENCE_MAX)
        return "its fence is none";
    if (row->name.len == 0)
        return "it has no name";
    if (row->permits == 0 || row->of == 0)
        return "it has no permits, or its semaphore none";
    return row->secret.len == STORE_SECRET ? NULL : "its secret is none";
}

const char *row_check_batch(const struct store_batch_row *row)
{
    const uint64_t counts[STORE_BATCH_ENDS] = {row->done, row->failed, row->cancelled, row->expired,
                                               row->dead};
    if (row->id == 0 || row->id > STORE_COUNT_MAX)
        return "its number is none";
    if (row->parent >= row->id)
        return "the batch that it belongs to is none before it";
    if (row->durable == DURABLE_NONE)
        return "it is in the file, and its durability says that it is not";
    for (unsigned n = 0; n < STORE_BATCH_ENDS; n++)
        if (counts[n] > STORE_COUNT_MAX)
            return "it counts more members than there can be";
    if (row->ended_at > 0 && !row->closed)
        return "it has ended, and is not closed";
    return is_value(row->on_success) && is_value(row->on_failure) && is_value(row->on_end)
               ? NULL
               : "what it submits is no MessagePack";
}
