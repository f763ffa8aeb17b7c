/* Asks that submit: each order becomes an outcome, and the operation is answered when all that is
 * to be on disk first is there. */
#include <stdlib.h>

#include "proto/encoder.h"
#include "server/jobs/jobs_parts.h"

enum { OUTCOME_MAX = 128 /* bytes of the answer to one order that was taken */ };

static bool is_many(const struct operation *op)
{
    return op->verb == OPERATION_SUBMIT_MANY;
}

/* --- The answer --- */

static uint8_t *put(uint8_t *p, const char *bytes, size_t len)
{
    memcpy(p, bytes, len);
    return p + len;
}

/* What is the same in every answer, packed beforehand. */
#define PUT(p, literal) put((p), (literal), sizeof(literal) - 1)

static uint8_t *enc_id(uint8_t *p, uint64_t id)
{
    char text[ID_TEXT_SIZE];
    return enc_str(p, span_of(id_text(id, text), ID_TEXT_LEN));
}

/* By hand, for this is what the server answers most; returns the end. */
static uint8_t *enc_outcome(struct jobs *jobs, const struct submission_outcome *outcome, uint8_t *p)
{
    const struct job *job = jobs_find(jobs, outcome->id); /* NULL: ended and forgotten meanwhile */
    p = enc_id(PUT(p, "\x85\xa2id"), outcome->id);
    p = PUT(p, "\xa5state");
    p = enc_str(p, span_text(job_state_names[job ? job->state : JOB_DONE]));
    p = PUT(p, "\xa7"
               "durable");
    p = enc_str(p, span_text(job_durable_names[outcome->durable]));
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
    pack_raw(p, span_of(bytes, (size_t)(end - bytes)));
}

static const char *text_of(const struct submission_outcome *outcome)
{
    return outcome->text ? outcome->text : error_meaning(outcome->error);
}

static void pack_refusal(const struct submission_outcome *outcome, struct pack *p)
{
    char text[OPERATION_LINE_MAX];
    snprintf(text, sizeof text, "%s: %s", error_name(outcome->error), text_of(outcome));
    pack_map(p, 1);
    pack_key_str(p, "error", text);
}

static void answer_one(struct jobs *jobs, struct operation *op)
{
    _Static_assert((size_t)OUTCOME_MAX <= sizeof op->text, "the answer stands in the text");
    uint8_t *at = (uint8_t *)op->text;
    if (op->outcomes[0].error != ERGON_OK) {
        operation_refuse(jobs, op, op->outcomes[0].error, "%s", text_of(&op->outcomes[0]));
        return;
    }
    op->short_result = (uint32_t)(enc_outcome(jobs, &op->outcomes[0], at) - at);
    operation_finish(jobs, op);
}

void submit_answer(struct jobs *jobs, struct operation *op)
{
    if (!is_many(op)) {
        answer_one(jobs, op);
        return;
    }
    pack_init(&op->result);
    pack_array(&op->result, op->spec_count);
    for (uint32_t i = 0; i < op->spec_count; i++)
        if (op->outcomes[i].error == ERGON_OK)
            pack_outcome(jobs, &op->outcomes[i], &op->result);
        else
            pack_refusal(&op->outcomes[i], &op->result);
    operation_finish(jobs, op);
}

/* --- The orders --- */

/* Its commit is to be waited for: then no answer comes before. */
static bool waits_for_commit(const struct job *job)
{
    return job->durable == DURABLE_FSYNC && job_is(job, JOB_SUBMITTING);
}

static void fail(struct submission_outcome *outcome, enum ergon_error error, const char *text)
{
    outcome->error = error;
    outcome->text = strdup(text); /* NULL: the error's meaning */
}

static struct job *submit_one(struct jobs *jobs, struct operation *op, uint32_t i)
{
    struct submission_outcome *outcome = &op->outcomes[i];
    struct job_spec *spec = &op->specs[i];
    struct submitted done;
    char text[OPERATION_TEXT_MAX];
    if (spec->tenant.len == 0)
        spec->tenant = op->principal;
    enum ergon_error error = job_submit(jobs, spec, &done, text, sizeof text);
    if (error != ERGON_OK) {
        fail(outcome, error, text);
        return NULL;
    }
    *outcome = (struct submission_outcome){.id = done.entry->id,
                                           .durable = done.entry->durable,
                                           .duplicate = done.duplicate,
                                           .coalesced = done.coalesced};
    return done.entry;
}

static void call(struct jobs *jobs, struct operation *op)
{
    struct job *job = submit_one(jobs, op, 0);
    if (!job) {
        submit_answer(jobs, op);
        return;
    }
    if (!op->outcomes[0].duplicate && !op->outcomes[0].coalesced)
        job_mark(job, JOB_FOREGROUND);
    if (!job_state_open((enum job_state)job->state))
        wait_answer(jobs, op, job);
    else if (!wait_join(jobs, op, job)) {
        job_cancel(jobs, job);
        operation_refuse(jobs, op, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    }
}

static void await_commit(struct jobs *jobs, struct operation *op, struct job *job, uint32_t i)
{
    if (!wait_join(jobs, op, job)) {
        fail(&op->outcomes[i], ERGON_E_MEMORY, "it was taken, but its commit is not awaited");
        return;
    }
    op->outcomes[i].before = job->waits->outcome; /* who joined last is the first */
    job->waits->outcome = i + 1;
}

void submit_serve(struct jobs *jobs, struct operation *op)
{
    op->outcome = (struct submission_outcome){0};
    op->outcomes =
        op->spec_count <= 1 ? &op->outcome : calloc(op->spec_count, sizeof *op->outcomes);
    if (!op->outcomes) {
        operation_refuse(jobs, op, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (op->verb == OPERATION_CALL) {
        call(jobs, op);
        return;
    }
    for (uint32_t i = 0; i < op->spec_count; i++) {
        struct job *job = submit_one(jobs, op, i);
        if (job && waits_for_commit(job))
            await_commit(jobs, op, job, i);
    }
    if (!op->held)
        submit_answer(jobs, op);
}
