/* The namespace task.*, how work comes in: submit, submit_many, call. */
#include "server/rpc/orders.h"

static const char submit_usage[] = "task.submit takes [method, [params], {options}]";
static const char many_usage[] =
    "task.submit_many takes [[[method, [params], {options}], ...], {options of all}]";
static const char call_usage[] = "task.call takes [method, [params], {options}]";

/* A call that asks for nothing but a deadline needs no ledger: it goes the way of a plain one. */
struct short_call {
    struct span name, params;
    uint64_t within; /* ns */
};

/* True: it is one.  Looks only; the parameters may turn out to be wrong. */
static bool is_short(struct rpc_request *rq, struct short_call *out)
{
    struct reader r;
    struct span key;
    uint32_t count, pairs = 0;

    *out = (struct short_call){.params = span_text("\xc0"), .within = UINT64_MAX};
    read_params(rq->params, &r, &count);
    if (count < 1 || count > 3 || !read_text(&r, &out->name) ||
        (count > 1 && !read_any(&r, &out->params)))
        return false;
    if (count < 3 || read_nil(&r))
        return true;
    if (!read_map(&r, &pairs) || pairs > 1)
        return false;
    return pairs == 0 ||
           (read_text(&r, &key) && span_is(key, "deadline") && read_duration(&r, &out->within));
}

static void start_short(struct rpc_request *rq, const struct short_call *call)
{
    struct method *m = registry_find(rq->loop->shared->registry, call->name);
    ao_time now = activator_now(rq->loop->activator);

    if (!rpc_admit(rq, call->name, RPC_GUARDED))
        return;
    if (!m) {
        rpc_refuse(rq, ERGON_E_NO_METHOD, "no handler \"%.*s\"; server.methods lists what there is",
                   (int)(call->name.len < 256 ? call->name.len : 256), (const char *)call->name.at);
        return;
    }
    rpc_start_call(rq, m, call->params,
                   call->within >= AO_NEVER - now ? AO_NEVER : now + call->within);
}

static void serve_one(struct rpc_request *rq, const struct operation_class *cls, const char *usage)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, cls, 1))
        return;
    spec_defaults(&b, &b.op->submission.specs[0]);
    if (spec_read(&b, &b.op->submission.specs[0], b.count, usage))
        job_request_send(&b, false);
    else
        job_request_abort(&b);
}

/* task.call [method, [params], {options}] */
static void serve_call(struct rpc_request *rq)
{
    struct short_call call;

    if (is_short(rq, &call))
        start_short(rq, &call);
    else
        serve_one(rq, &operation_call, call_usage);
}

/* task.submit [method, [params], {options}] */
static void serve_submit(struct rpc_request *rq)
{
    serve_one(rq, &operation_submit, submit_usage);
}

enum { MANY_MAX = 16384 /* orders of a request */ };

/* How many orders the request holds; 0: it is not of that shape. */
static uint32_t count_orders(struct rpc_request *rq)
{
    struct reader r;
    uint32_t count, orders;

    read_params(rq->params, &r, &count);
    return count >= 1 && count <= 2 && read_array(&r, &orders) ? orders : 0;
}

static bool read_item(struct job_request *b, struct job_spec *spec)
{
    uint32_t parts = 1;

    if (read_array(&b->r, &parts) && parts == 0)
        return spec_refuse(b, ERGON_E_BAD_PARAMS, "%s", many_usage);
    return spec_read(b, spec, parts, many_usage);
}

/* The options of all stand behind the orders, and each order starts from them. */
static bool read_common(struct job_request *b, struct job_spec *common, uint32_t orders)
{
    struct job_request ahead = *b;
    struct span skipped;

    spec_defaults(b, common);
    if (b->count < 2)
        return true;
    for (uint32_t i = 0; i < orders; i++)
        if (!read_any(&ahead.r, &skipped))
            break;
    bool good = spec_options(&ahead, common, NULL);
    b->ids = ahead.ids;
    return good;
}

static bool read_many(struct job_request *b, uint32_t orders)
{
    struct job_spec common;
    uint32_t count;

    if (!read_array(&b->r, &count) || !read_common(b, &common, orders))
        return false;
    for (uint32_t i = 0; i < orders; i++) {
        b->op->submission.specs[i] = common;
        b->item = i + 1;
        if (!read_item(b, &b->op->submission.specs[i]))
            return false;
    }
    return true;
}

/* task.submit_many [[[method, [params], {options}], ...], {options of all}] */
static void serve_submit_many(struct rpc_request *rq)
{
    uint32_t orders = count_orders(rq);
    struct job_request b;

    if (orders == 0) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", many_usage);
        return;
    }
    if (orders > MANY_MAX) {
        rpc_refuse(rq, ERGON_E_TOO_LARGE, "at most %d tasks in one request", MANY_MAX);
        return;
    }
    if (!job_request_begin(&b, rq, &operation_submit_many, orders))
        return;
    if (read_many(&b, orders))
        job_request_send(&b, false);
    else
        job_request_abort(&b);
}

#define OPTIONS                                                                                    \
    "{priority, delay, at, timeout, deadline, retries, backoff, backoff_max, backoff_jitter, "     \
    "key, "                                                                                        \
    "coalesce, limit, rate, tenant, after, keep, keep_size, durable}"

static const struct rpc_method methods[] = {
    {"task.submit", RPC_OPEN, serve_submit, "[method: str, [params], " OPTIONS "]",
     "leave a task with the server; answers its id"},
    {"task.submit_many", RPC_OPEN, serve_submit_many,
     "[[[method: str, [params], " OPTIONS "], ...], " OPTIONS "]", "leave many tasks at once"},
    {"task.call", RPC_OPEN, serve_call, "[method: str, [params], " OPTIONS "]",
     "call a handler with options, and wait for its result"},
};
const struct rpc_methods rpc_task_methods = {methods, sizeof methods / sizeof methods[0]};
