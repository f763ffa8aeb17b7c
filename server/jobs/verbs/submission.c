/* task.submit, task.submit_many, task.call, actor.tell, actor.call: operations that submit.  Each
 * spec becomes a job and gets an outcome.  A submission is answered when all rows that its answer
 * promises are on disk, a call when its job has ended. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/tracepoint.h"
#include "proto/encoder.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/turn_calls.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/life/outcome.h"
#include "server/jobs/life/submit.h"
#include "server/jobs/operations/operation.h"
#include "server/jobs/operations/turns.h"
#include "server/jobs/verbs/intake.h"

enum {
    OUTCOME_MAX = 128, /* bytes of the answer about a spec that was taken */
    TASK_WORK = 10,    /* to take a spec; see jobs_worked() */
    NAME_WORK = 10     /* to find or make each name that a task may share with others */
};

/* --- One spec --- */

static bool submission_begin(struct operation *op)
{
    struct submission_arguments *s = &op->submission;
    s->outcome = (struct submission_outcome){0};
    s->joins = s->numbers = false;
    s->outcomes = s->count <= 1 ? &s->outcome : calloc(s->count, sizeof *s->outcomes);
    if (!s->outcomes)
        operation_refuse_plain(op, ERGON_E_MEMORY);
    return s->outcomes != NULL;
}

static void fail(struct submission_outcome *outcome, enum ergon_error error, const char *text)
{
    outcome->error = error;
    outcome->text = strdup(text); /* NULL: the error's meaning */
}

static bool may_join(const void *op, const struct job *job)
{
    return operation_may_run(op, job);
}

static bool may_wait(const void *op, const struct job *job, const struct job *on)
{
    return operation_may_wait(op, job, on);
}

static bool may_read(const void *op, const struct job *on)
{
    return operation_sees(op, on) & SEES_RESULTS;
}

static void log_taken(const struct operation *op, const struct submitted *done)
{
    const struct job *job = done->job;
    char id[ID_TEXT_SIZE], tenant[128];

    snprintf(tenant, sizeof tenant, "%.*s", (int)job->tenant->name.len,
             (const char *)job->tenant->name.at);
    log_debug(done->duplicate || done->coalesced ? "submitted, as one that is there" : "submitted",
              LOG_UINT("conn", op->conn), LOG_STR("task", id_text(job->id, id)),
              LOG_STR("method", (const char *)job->queue->name.at), LOG_STR("tenant", tenant),
              LOG_STR("durable", job_durable_names[job->durable]),
              LOG_STR("state", job_state_names[job->state]));
}

static size_t names_of(const struct job_spec *spec)
{
    return (size_t)(spec->key.len > 0) + (spec->coalesce.len > 0) + (spec->limit_key.len > 0) +
           (spec->rate_key.len > 0);
}

static const char in_memory[] = "the actor is not durable, so a transaction cannot submit to it";

static void submission_nears(struct jobs *jobs, struct operation *op)
{
    const struct message_hooks *messages = &jobs_scheduler(jobs)->messages;
    struct job_spec *spec = op->submission.specs;
    if (op->submission.count == 1 && spec && spec->actor.len > 0)
        messages->nears(messages->arg, spec->tenant.len > 0 ? spec->tenant : op->tenant, spec);
}

static struct job *submission_take(struct jobs *jobs, struct operation *op, uint32_t i)
{
    struct submission_outcome *outcome = &op->submission.outcomes[i];
    struct job_spec *spec = &op->submission.specs[i];
    struct submitted done;
    char text[JOB_TEXT_MAX];
    assert(i < op->submission.count && op->submission.specs);
    jobs_worked(jobs, TASK_WORK + EDGE_WORK * ((size_t)spec->after_count + spec->after_any_count));
    if (spec->tenant.len == 0)
        spec->tenant = op->tenant;
    if (op->submission.count == 1)
        spec->message = &op->message;
    else
        jobs_worked(jobs, NAME_WORK * names_of(spec));
    const struct submitter submitter = {
        .may_join = may_join,
        .waits = {.may_wait = may_wait, .may_read = may_read, .arg = op},
        .arg = op};
    enum ergon_error error = job_submit(jobs, spec, &submitter, &done, text, sizeof text);
    if (error != ERGON_OK) {
        fail(outcome, error, text);
        return NULL;
    }
    if (!intake_admits(spec, done.job, done.hardens)) {
        job_unsubmit(jobs, &done, in_memory);
        fail(outcome, ERGON_E_BAD_PARAMS, in_memory);
        return NULL;
    }
    assert(!done.hardens || done.duplicate || done.coalesced); /* a new job has no other row */
    *outcome = (struct submission_outcome){.id = done.job->id,
                                           .durable = done.job->durable,
                                           .duplicate = done.duplicate,
                                           .coalesced = done.coalesced,
                                           .numbers = done.numbers,
                                           .hardens = done.hardens};
    op->submission.numbers |= done.numbers;
    if (tracepoint_watched(submit))
        job_trace_submit(done.job, op->conn);
    if (log_has(LOG_DEBUG))
        log_taken(op, &done);
    return done.job;
}

static void submission_saved(struct jobs *jobs, struct operation *op, uint32_t i, struct job *job,
                             enum store_error error)
{
    struct submission_outcome *outcome = &op->submission.outcomes[i];
    bool joins = outcome->hardens;
    assert(!joins || op->submission.specs); /* its arguments were not dropped */
    outcome->hardens = false;
    outcome->durable = job->durable;
    if (error != STORE_OK && !joins && job->saved != JOB_SAVED_NOTHING)
        return; /* what failed is a later write, which others want */
    if (error != STORE_OK)
        fail(outcome, sync_error(error), store_error_text(error));
    if (joins && error == STORE_OK) {
        job_joined(job, &op->submission.specs[i]);
        intake_hardened(jobs, op, i);
    } else if (joins && outcome->coalesced) {
        job_cancel(jobs_scheduler(jobs), job);
    }
}

static const char *text_of(const struct submission_outcome *outcome)
{
    return outcome->text ? outcome->text : error_meaning(outcome->error);
}

static void submission_refuse(struct operation *op)
{
    const struct submission_outcome *outcome = &op->submission.outcomes[0];
    assert(op->submission.count == 1);
    operation_refuse(op, outcome->error, "%s", text_of(outcome));
}

static void submission_fini(struct operation *op)
{
    struct submission_arguments *s = &op->submission;
    for (uint32_t i = 0; s->outcomes && i < s->count; i++)
        free(s->outcomes[i].text);
    if (s->outcomes != &s->outcome)
        free(s->outcomes);
}

/* --- task.submit, task.submit_many: the answer --- */

static uint8_t *put(uint8_t *p, const char *bytes, size_t len)
{
    memcpy(p, bytes, len);
    return p + len;
}

/* Appends a string literal: the parts of an answer that never change, packed beforehand. */
#define PUT(p, literal) put((p), (literal), sizeof(literal) - 1)

static uint8_t *enc_id(uint8_t *p, uint64_t id)
{
    char text[ID_TEXT_SIZE];
    return enc_str(p, span_of(id_text(id, text), ID_TEXT_LEN));
}

/* Encodes by hand, since no answer is more frequent; returns the end. */
static uint8_t *enc_outcome(struct jobs *jobs, const struct submission_outcome *outcome, uint8_t *p)
{
    const struct job *job =
        table_find(jobs_table(jobs), outcome->id); /* NULL: ended and forgotten meanwhile */
    p = enc_id(PUT(p, "\x85\xa2id"), outcome->id);
    p = PUT(p, "\xa5state");
    p = enc_str(p, span_text(job_state_names[job ? job->state : JOB_DONE]));
    p = PUT(p, "\xa7"
               "durable");
    p = enc_str(p, span_text(job_durable_names[jobs_level_reached(jobs, outcome->durable)]));
    p = enc_bool(PUT(p, "\xa9"
                        "duplicate"),
                 outcome->duplicate);
    return enc_bool(PUT(p, "\xa9"
                           "coalesced"),
                    outcome->coalesced);
}

static void pack_outcome(struct jobs *jobs, const struct submission_outcome *outcome,
                         struct pack *p)
{
    uint8_t bytes[OUTCOME_MAX];
    const uint8_t *end = enc_outcome(jobs, outcome, bytes);
    assert(end <= bytes + OUTCOME_MAX);
    pack_raw(p, span_of(bytes, (size_t)(end - bytes)));
}

static void pack_refusal(const struct submission_outcome *outcome, struct pack *p)
{
    char text[JOB_LINE_MAX];
    snprintf(text, sizeof text, "%s: %s", error_name(outcome->error), text_of(outcome));
    pack_map(p, 1);
    pack_key_str(p, "error", text);
}

static void finish(struct jobs *jobs, struct operation *op)
{
    if (op->submission.numbers)
        sync_answer(jobs, op);
    else
        operation_finish(op);
}

static void answer_one(struct jobs *jobs, struct operation *op)
{
    struct operation_reply *reply = &op->reply;
    _Static_assert((size_t)OUTCOME_MAX <= sizeof reply->text, "the text has room for the answer");
    uint8_t *at = (uint8_t *)reply->text;
    if (op->submission.outcomes[0].error != ERGON_OK) {
        submission_refuse(op);
        return;
    }
    reply->short_result = (uint32_t)(enc_outcome(jobs, &op->submission.outcomes[0], at) - at);
    finish(jobs, op);
}

static void answer_many(struct jobs *jobs, struct operation *op)
{
    const struct submission_arguments *s = &op->submission;
    struct pack *p = &op->reply.result;
    pack_init(p);
    pack_array(p, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->outcomes[i].error == ERGON_OK)
            pack_outcome(jobs, &s->outcomes[i], p);
        else
            pack_refusal(&s->outcomes[i], p);
    finish(jobs, op);
}

static void answer(struct jobs *jobs, struct operation *op)
{
    assert(op->submission.taken == op->submission.count);
    if (op->cls == &operation_task_submit_many || op->cls == &operation_batch_add)
        answer_many(jobs, op);
    else
        answer_one(jobs, op);
}

/* The job is there all the same: so nobody is to submit it again. */
static void fail_numbers(struct submission_outcome *outcome, enum store_error error)
{
    char id[ID_TEXT_SIZE], text[JOB_TEXT_MAX];
    snprintf(text, sizeof text,
             "task %s was submitted, but until the numbers of its limit or rate can be written, a "
             "restart forgets them: %s",
             id_text(outcome->id, id), store_error_text(error));
    fail(outcome, ERGON_E_UNSURE, text);
}

static void numbers_unwritten(struct jobs *jobs, struct operation *op, enum store_error error)
{
    struct submission_arguments *s = &op->submission;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->outcomes[i].numbers && s->outcomes[i].error == ERGON_OK)
            fail_numbers(&s->outcomes[i], error);
    s->numbers = false;
    pack_fini(&op->reply.result);
    answer(jobs, op);
}

/* --- task.submit, task.submit_many: the commit --- */

static bool waits_for_commit(const struct operation *op, uint32_t i, const struct job *job)
{
    return op->submission.outcomes[i].hardens ||
           (durable_is_awaited(job->durable) && job_is(job, JOB_SUBMITTING));
}

static void await_commit(struct operation *op, struct job *job, uint32_t i)
{
    struct submission_outcome *outcome = &op->submission.outcomes[i];
    if (!waiters_join(op, job)) {
        fail(outcome, ERGON_E_UNSURE, "it was taken, but its commit is not awaited");
        return;
    }
    struct waiter *w = job->waits; /* the one that joined last is the first */
    assert(w->op == op && w->outcome <= i);
    if (w->saved)
        op->waiting.open++;
    w->saved = false;
    outcome->before = w->outcome;
    w->outcome = i + 1;
}

static void job_saved(struct jobs *jobs, struct waiter *w, enum store_error error)
{
    struct operation *op = w->op;
    const struct submission_outcome *outcomes = op->submission.outcomes;
    if (w->outcome == 0)
        return; /* nothing since the last time; a later task of the batch may join the job again */
    for (uint32_t at = w->outcome; at > 0; at = outcomes[at - 1].before)
        submission_saved(jobs, op, at - 1, w->job, error);
    assert(op->waiting.open > 0);
    w->outcome = 0;
    w->saved = true;
    if (--op->waiting.open > 0 || op->submission.taken < op->submission.count)
        return;
    waiters_leave(op);
    answer(jobs, op);
}

static void take_next(struct jobs *jobs, struct operation *op)
{
    uint32_t i = op->submission.taken++;
    struct job *job = submission_take(jobs, op, i);
    if (job && waits_for_commit(op, i, job))
        await_commit(op, job, i);
    if (job && op->submission.specs[i].inbox > 0)
        intake_taken(jobs, op, i, job);
    op->submission.joins |= op->submission.outcomes[i].hardens;
}

/* A batch of thousands takes many turns, so the rows of its first tasks may be on disk before its
 * last task is taken. */
static bool serve_part(struct jobs *jobs, struct operation *op)
{
    const struct submission_arguments *s = &op->submission;
    uint32_t begun = jobs_work(jobs), from = s->taken;
    if (!op->begun && !submission_begin(op))
        return true;
    if (!op->begun && op->cls == &operation_actor_tell && s->caller > 0 &&
        !turn_calls_counts(jobs, op))
        return true;
    op->begun = true;
    while (s->taken < s->count && jobs_work(jobs) - begun < TURN_WORK)
        take_next(jobs, op);
    intake_push(jobs, op, from);
    if (s->taken < s->count)
        return false;
    if (op->waiting.open == 0) {
        waiters_leave(op);
        answer(jobs, op);
    } else if (!s->joins) {
        operation_drop_arguments(op);
    }
    return true;
}

#define SUBMITS(name)                                                                              \
    {                                                                                              \
        .method = (name), .is_submission = true, .serve_part = serve_part,                         \
        .nears = submission_nears, .fini = submission_fini, .dropped = waiters_drop,               \
        .job_saved = job_saved, .unwritten = numbers_unwritten                                     \
    }
const struct operation_class operation_task_submit = SUBMITS(method_task_submit);
const struct operation_class operation_actor_tell = SUBMITS(method_actor_tell);
const struct operation_class operation_task_submit_many = SUBMITS(method_task_submit_many);
const struct operation_class operation_batch_add = SUBMITS(method_batch_add);

/* --- task.call: the end of the job is the answer --- */

/* What the server itself says of a message is its own error; all else is the handler's. */
static enum ergon_error error_of_message(const struct job *job)
{
    const char *code = job->end ? job->end->code : NULL;
    enum ergon_error error = code ? error_find(code) : ERGON_OK;
    bool own = error == ERGON_E_STOPPED || error == ERGON_E_BAD_CHANGES || error == ERGON_E_STORE ||
               error == ERGON_E_UNSURE;
    return own ? error : ERGON_E_FAILED;
}

static enum ergon_error error_of(const struct job *job)
{
    if (job->state == JOB_CANCELLED)
        return ERGON_E_CANCELLED;
    if (job->state == JOB_EXPIRED)
        return ERGON_E_DEADLINE;
    return job->is_message ? error_of_message(job) : ERGON_E_FAILED;
}

static void fail_call(struct operation_reply *reply, const struct job *job)
{
    const struct job_result *end = job->end;
    reply->error = error_of(job);
    if (end && end->code && reply->error == ERGON_E_FAILED)
        snprintf(reply->code, sizeof reply->code, "%s", end->code);
    snprintf(reply->text, sizeof reply->text, "%s",
             end && end->text ? end->text : error_meaning(reply->error));
}

/* The reply has room for a short result, which is copied there. */
static void give_result(struct operation_reply *reply, struct blob *result)
{
    struct span raw = blob_bytes(result);
    if (raw.len > 0 && raw.len <= sizeof reply->text) {
        memcpy(reply->text, raw.at, raw.len);
        reply->short_result = (uint32_t)raw.len;
        return;
    }
    pack_init(&reply->result);
    pack_blob(&reply->result, result);
}

static void answer_call(struct jobs *jobs, struct operation *op, struct job *job)
{
    const struct job_result *end = job->end;
    struct operation_reply *reply = &op->reply;
    (void)jobs;
    assert(!job_state_open((enum job_state)job->state));
    waiters_leave(op);
    if (job->state != JOB_DONE) {
        fail_call(reply, job);
    } else if (end && end->cut) {
        reply->error = ERGON_E_TOO_LARGE;
        snprintf(reply->text, sizeof reply->text,
                 "the result is larger than keep_size and was not kept");
    } else if (end && end->result) {
        give_result(reply, end->result);
    }
    operation_finish(op);
}

/* --- task.call: the caller dropped it --- */

static bool is_called(const struct job *job)
{
    for (const struct waiter *w = job->waits; w; w = w->next_of_job)
        if (w->op->cls->is_call)
            return true;
    return false;
}

static bool shares_run(const struct operation *op, const struct job *job)
{
    return !op->submission.outcomes[0].duplicate && job->more && job->more->coalesce.name.len > 0;
}

/* True if the job is to be cancelled with the call.  Of calls that share a job by its key, only the
 * last one cancels it, and none cancels a job that task.submit made.  Calls that share a run by
 * `coalesce` are counted, and job_cancel() cancels it with the last one. */
static bool cancels_job(const struct operation *op, struct job *job)
{
    if (shares_run(op, job)) {
        assert(job->more->calls > 0);
        job->more->calls--;
        return true;
    }
    return job_is(job, JOB_FOREGROUND) && !is_called(job);
}

/* Other operations leave `caller` as it is. */
static bool is_of_turn(const struct operation *op)
{
    return op->cls == &operation_actor_call && op->submission.caller > 0;
}

static void drop_call(struct jobs *jobs, struct operation *op)
{
    assert(op->waiting.at && !op->waiting.at->next_of_op); /* a call waits for one job */
    struct job *called = op->waiting.at->job;
    waiters_leave(op);
    if (is_of_turn(op))
        turn_calls_dropped(jobs, op);
    if (cancels_job(op, called))
        job_cancel(jobs_scheduler(jobs), called);
    operation_refuse_plain(op, ERGON_E_CANCELLED);
}

/* --- task.call: serving it --- */

static void call_saved(struct jobs *jobs, struct waiter *w, enum store_error error)
{
    struct operation *op = w->op;
    struct job *job = w->job;
    if (!op->submission.outcomes[0].hardens)
        return;
    if (error != STORE_OK && shares_run(op, job))
        job->more->calls--;
    submission_saved(jobs, op, 0, job, error);
    if (error != STORE_OK) {
        waiters_leave(op);
        submission_refuse(op);
    } else if (!job_state_open((enum job_state)job->state)) {
        answer_call(jobs, op, job);
    }
}

static void call_ended(struct jobs *jobs, struct operation *op, struct job *job)
{
    if (!op->submission.outcomes[0].hardens)
        answer_call(jobs, op, job);
}

/* A message with a key has one result, for all that ask for it. */
static bool goes_on_alone(const struct job *job)
{
    return job->is_message && job->more && job->more->key.name.len > 0;
}

static void serve_call(struct jobs *jobs, struct operation *op)
{
    if (!submission_begin(op))
        return;
    if (is_of_turn(op) && !turn_calls_may(jobs, op))
        return;
    op->submission.specs[0].answers = true;
    op->submission.specs[0].calls = op->submission.specs[0].key.len == 0;
    struct job *job = submission_take(jobs, op, 0);
    const struct submission_outcome *outcome = &op->submission.outcomes[0];
    if (!job) {
        submission_refuse(op);
        return;
    }
    if (!outcome->duplicate && !outcome->coalesced && !goes_on_alone(job))
        job_mark(job, JOB_FOREGROUND);
    if (shares_run(op, job))
        job->more->calls++;
    if (!job_state_open((enum job_state)job->state) && !outcome->hardens) {
        answer_call(jobs, op, job);
        return;
    }
    bool waits = waiters_join(op, job);
    assert(waits); /* to join the first job takes no memory */
    (void)waits;
    if (is_of_turn(op))
        turn_calls_began(jobs, op, job);
    if (!outcome->hardens)
        operation_drop_arguments(op);
}

#define CALLS(name)                                                                                \
    {                                                                                              \
        .method = (name), .is_submission = true, .is_call = true, .nears = submission_nears,       \
        .serve = serve_call, .fini = submission_fini, .dropped = drop_call,                        \
        .refused_at_stop = true, .job_saved = call_saved, .job_ended = call_ended                  \
    }
const struct operation_class operation_task_call = CALLS(method_task_call);
const struct operation_class operation_actor_call = CALLS(method_actor_call);
