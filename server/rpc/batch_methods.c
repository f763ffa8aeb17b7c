/* The namespace batch.*, but for batch.add (submit_many.c). */
#include "proto/job_options.h"
#include "server/jobs/core/ids.h"
#include "server/rpc/read_spec.h"

#define EXPECTS_BATCH "; an id is the text that batch.create answered"
#define EXPECTS_CALL  "[method, [params], {options}]"

static const ao_time wait_most = AO_S(3600);
enum { PAGE = 100, PAGE_MOST = 1000, VIEW_BYTES = 640 /* of one batch as it is shown */ };

/* --- What a batch submits --- */

/* It waits for nothing: its batch has ended, or a member has. */
static const uint32_t never = 1u << JOB_OPTION_after | 1u << JOB_OPTION_after_any;

static bool refuse_call(struct job_request *jr, const char *name, const char *why)
{
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "option %s: %s", name, why);
    return false;
}

static bool call_options(struct job_request *jr, const char *name, struct job_spec *spec)
{
    struct span tenant = spec->tenant, raw;
    char error[200];

    if (!read_any(&jr->r, &raw))
        return refuse_call(jr, name, "expected " EXPECTS_CALL);
    bool good = spec_read_turn_options(raw, spec, error, sizeof error);
    if (spec->said & never)
        return refuse_call(jr, name,
                           "what a batch submits cannot have the options after and "
                           "after_any");
    if (!good)
        return refuse_call(jr, name, error);
    if (spec->actor.len > 0 || spec->coalesce.len > 0)
        return refuse_call(jr, name,
                           "what a batch submits is a task of its own: no message to an "
                           "actor, and without coalesce");
    return span_equal(spec->tenant, tenant) ||
           refuse_call(jr, name, "what a batch submits is of the tenant of the batch");
}

/* The peer may submit it now, so the batch may later. */
static bool check_call(struct job_request *jr, const char *name, struct span raw)
{
    struct job_spec spec;
    uint32_t count;

    if (raw.len == 0)
        return true;
    jr->r = reader_of(raw);
    job_spec_init(&spec);
    spec.tenant = jr->op->batch.tenant;
    if (!read_array(&jr->r, &count) || count < 1 || count > 3 || !read_text(&jr->r, &spec.method) ||
        (count > 1 && !read_any(&jr->r, &spec.params)))
        return refuse_call(jr, name, "expected " EXPECTS_CALL);
    return spec_may_run(jr, spec.method) && (count < 3 || call_options(jr, name, &spec)) &&
           spec_may_share(jr, &spec);
}

/* --- create --- */

static bool read_call(struct reader *r, void *out)
{
    return read_any(r, out);
}

static bool read_level(struct reader *r, void *out)
{
    struct span name;

    if (!read_text(r, &name))
        return false;
    for (unsigned level = 0; level < DURABLE_COUNT; level++)
        if (span_is(name, job_durable_names[level])) {
            *(uint8_t *)out = (uint8_t)level;
            return true;
        }
    return false;
}

static bool read_create(struct job_request *jr, struct batch_arguments *a)
{
    const struct option options[] = {
        {batch_call_names[BATCH_ON_SUCCESS], read_call, &a->calls[BATCH_ON_SUCCESS], EXPECTS_CALL},
        {batch_call_names[BATCH_ON_FAILURE], read_call, &a->calls[BATCH_ON_FAILURE], EXPECTS_CALL},
        {batch_call_names[BATCH_ON_END], read_call, &a->calls[BATCH_ON_END], EXPECTS_CALL},
        {"parent", option_batch, &a->parent, "the id of a batch, as batch.create answered it"},
        {"durable", read_level, &a->durable, "\"none\", \"async\", \"fsync\" or \"replicated\""},
        {"keep", option_duration, &a->keep, JOB_EXPECTS_DURATION},
        {"tenant", option_name, &a->tenant, JOB_EXPECTS_NAME},
    };

    if (jr->count > 1) {
        rpc_refuse_params(jr->rq, "");
        return false;
    }
    return jr->count == 0 ||
           rpc_read_options(jr->rq, &jr->r, options, sizeof options / sizeof options[0]);
}

void serve_batch_create(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_batch_create, 0))
        return;
    struct batch_arguments *a = &jr.op->batch;
    a->tenant = jr.op->tenant;
    a->durable = rq->loop->shared->default_durable;
    a->keep = JOB_KEEP;
    bool good = read_create(&jr, a);
    for (unsigned n = 0; good && n < BATCH_CALL_COUNT; n++)
        good = check_call(&jr, batch_call_names[n], a->calls[n]);
    job_request_keep(&jr, &a->tenant);
    for (unsigned n = 0; n < BATCH_CALL_COUNT; n++)
        job_request_keep(&jr, &a->calls[n]);
    if (good)
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

/* --- close, get, cancel --- */

static bool read_wait(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns <= wait_most;
}

static void serve_id(struct rpc_request *rq, const struct operation_class *cls)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, cls, 0))
        return;
    struct batch_arguments *a = &jr.op->batch;
    const struct option options[] = {
        {"wait", read_wait, &a->wait,
         "a duration of at most an hour: milliseconds, or text such as \"5s\""}};
    bool waits = cls == &operation_batch_get;
    if (jr.count == 0 || !option_batch(&jr.r, &a->id)) {
        rpc_refuse_params(rq, EXPECTS_BATCH);
        job_request_abort(&jr);
    } else if (job_request_options(&jr, options, waits)) {
        job_request_send(&jr, a->wait > 0);
    } else {
        job_request_abort(&jr);
    }
}

void serve_batch_close(struct rpc_request *rq)
{
    serve_id(rq, &operation_batch_close);
}

void serve_batch_cancel(struct rpc_request *rq)
{
    serve_id(rq, &operation_batch_cancel);
}

/* batch.get [id, {wait}] */
void serve_batch_get(struct rpc_request *rq)
{
    serve_id(rq, &operation_batch_get);
}

/* --- list --- */

static bool read_state(struct reader *r, void *out)
{
    struct span name;

    if (!read_text(r, &name))
        return false;
    for (int s = 0; s < BATCH_STATE_COUNT; s++)
        if (span_is(name, batch_state_names[s])) {
            *(int *)out = s;
            return true;
        }
    return false;
}

void serve_batch_list(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_batch_list, 0))
        return;
    struct batch_arguments *a = &jr.op->batch;
    a->state = -1;
    a->max = PAGE;
    const struct option options[] = {
        {"state", read_state, &a->state, "open, closed, cancelling, ending or ended"},
        {"tenant", option_name, &a->tenant, JOB_EXPECTS_NAME},
        {"parent", option_batch, &a->parent, "the id of a batch, as batch.create answered it"},
        {"limit", option_count, &a->max, "a number from 1"},
        {"cursor", option_batch, &a->cursor, "what `next` of the page before said"},
    };
    job_request_keep(&jr, &a->tenant);
    if (jr.count > 1 || (jr.count == 1 && !rpc_read_options(rq, &jr.r, options,
                                                            sizeof options / sizeof options[0]))) {
        if (jr.count > 1)
            rpc_refuse_params(rq, "");
        job_request_abort(&jr);
        return;
    }
    if (a->max > PAGE_MOST)
        a->max = PAGE_MOST;
    jr.answer = a->max * VIEW_BYTES;
    job_request_send(&jr, false);
}
