/* The namespace task.*, what is asked of tasks that the server keeps. */
#include "server/jobs/core/ids.h"
#include "server/rpc/orders.h"

static const ao_time poll_time = AO_S(8); /* less than the ten seconds that common clients wait */
static const ao_time poll_most = AO_S(3600);
enum { PAGE = 100, PAGE_MOST = 1000, EVENTS = 100, EVENTS_MOST = 10000 };

static bool read_poll(struct reader *r, void *out)
{
    ao_time *ns = out;
    return read_duration(r, ns) && *ns <= poll_most;
}

#define EXPECTS_POLL "a duration of at most an hour: milliseconds, or text such as \"5s\""

/* The map behind the ids. */
static bool read_options(struct job_request *b, const struct option *options, uint32_t count)
{
    if (b->count <= 2)
        return b->count < 2 || options_read(b->rq, &b->r, options, count);
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "behind the id come options in one map, and no more");
    return false;
}

/* [id, {options}] or [ids, {options}]: reads the options, and sends. */
static void send_with(struct job_request *b, const struct option *options, uint32_t count,
                      bool poll)
{
    if (read_options(b, options, count))
        job_request_send(b, poll);
    else
        job_request_abort(b);
}

/* [id] */
static void serve_id(struct rpc_request *rq, const struct operation_class *cls, const char *usage)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, cls, 0))
        return;
    if (job_request_read_id(&b, &b.op->job.id, usage))
        send_with(&b, NULL, 0, false);
    else
        job_request_abort(&b);
}

static void serve_get(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_get, 0))
        return;
    b.op->job.with_result = true;
    const struct option options[] = {
        {"result", option_flag, &b.op->job.with_result, "true or false"},
        {"history", option_flag, &b.op->job.with_history, "true or false"},
    };
    if (job_request_read_id(&b, &b.op->job.id, "task.get takes [id, {result, history}]"))
        send_with(&b, options, 2, false);
    else
        job_request_abort(&b);
}

static void serve_wait(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_wait, 0))
        return;
    struct wait_arguments *wait = &b.op->wait;
    wait->with_result = true;
    wait->timeout = poll_time;
    const struct option options[] = {
        {"timeout", read_poll, &wait->timeout, EXPECTS_POLL},
        {"any", option_flag, &wait->any, "true or false"},
        {"result", option_flag, &wait->with_result, "true or false"},
    };
    if (job_request_read_ids(&b, wait, "task.wait takes [id or [ids], {timeout, any, result}]"))
        send_with(&b, options, 3, true);
    else
        job_request_abort(&b);
}

/* A watcher that is pushed to waits as long as the task lives, unless it says otherwise. */
static void send_watch(struct job_request *b, bool given)
{
    struct watch_arguments *watch = &b->op->watch;

    if (watch->push && !conn_mode(b->rq->conn)->push) {
        rpc_refuse(b->rq, ERGON_E_BAD_PARAMS,
                   "push is for connections that said server.hello [{push: true}]");
        job_request_abort(b);
        return;
    }
    if (!given)
        watch->timeout = watch->push ? AO_NEVER : poll_time;
    if (watch->max > EVENTS_MOST)
        watch->max = EVENTS_MOST;
    job_request_send(b, true);
}

static void serve_watch(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_watch, 0))
        return;
    struct watch_arguments *watch = &b.op->watch;
    watch->from = 1;
    watch->max = EVENTS;
    watch->timeout = AO_NEVER;
    const struct option options[] = {
        {"from", option_count, &watch->from, "the number of an event, from 1"},
        {"max", option_count, &watch->max, "a number from 1"},
        {"timeout", read_poll, &watch->timeout, EXPECTS_POLL},
        {"push", option_flag, &watch->push, "true or false"},
    };
    if (!job_request_read_id(&b, &watch->id, "task.watch takes [id, {from, max, timeout, push}]") ||
        !read_options(&b, options, 4))
        job_request_abort(&b);
    else
        send_watch(&b, watch->timeout != AO_NEVER);
}

static void serve_cancel(struct rpc_request *rq)
{
    serve_id(rq, &operation_cancel, "task.cancel takes [id]");
}

static void serve_retry(struct rpc_request *rq)
{
    serve_id(rq, &operation_retry, "task.retry takes [id]");
}

static void serve_explain(struct rpc_request *rq)
{
    serve_id(rq, &operation_explain, "task.explain takes [id]");
}

static bool read_state(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span name;

    if (!read_text(r, &name))
        return false;
    for (int s = 0; s < JOB_STATE_COUNT; s++)
        if (span_is(name, job_state_names[s])) {
            *(int *)out = s;
            return true;
        }
    *r = before;
    return false;
}

static bool read_cursor(struct reader *r, void *out)
{
    struct reader before = *r;
    struct span text;

    if (read_text(r, &text) && id_parse(text, out))
        return true;
    *r = before;
    return false;
}

#define EXPECTS_STATE                                                                              \
    "queued, delayed, waiting, assigned, running, parked, done, failed, cancelled, expired or "    \
    "dead"

static void serve_list(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_list, 0))
        return;
    struct list_arguments *f = &b.op->list;
    f->state = -1;
    f->max = PAGE;
    const struct option options[] = {
        {"state", read_state, &f->state, EXPECTS_STATE},
        {"method", option_name, &f->method, EXPECTS_NAME},
        {"tenant", option_name, &f->tenant, EXPECTS_NAME},
        {"key", option_name, &f->key, EXPECTS_NAME},
        {"older", option_duration, &f->older, EXPECTS_DURATION},
        {"newer", option_duration, &f->newer, EXPECTS_DURATION},
        {"limit", option_count, &f->max, "a number from 1"},
        {"cursor", read_cursor, &f->cursor, "what `next` of the page before said"},
    };
    if (b.count > 1 || (b.count == 1 && !options_read(rq, &b.r, options, 8))) {
        if (b.count > 1)
            rpc_refuse(rq, ERGON_E_BAD_PARAMS, "task.list takes [{options}]");
        job_request_abort(&b);
        return;
    }
    f->has_method = f->method.len > 0;
    f->has_tenant = f->tenant.len > 0;
    f->has_key = f->key.len > 0;
    if (f->max > PAGE_MOST)
        f->max = PAGE_MOST;
    job_request_send(&b, false);
}

static const struct rpc_method methods[] = {
    {"task.get", RPC_GUARDED, serve_get, "[id: str, {result: bool, history: bool}]",
     "state, figures and result of a task"},
    {"task.wait", RPC_GUARDED, serve_wait,
     "[id: str or [ids], {timeout: duration, any: bool, result: bool}]",
     "wait until tasks have ended"},
    {"task.watch", RPC_GUARDED, serve_watch,
     "[id: str, {from: int, max: int, timeout: duration, push: bool}]",
     "the history of a task, from an event on, as it grows"},
    {"task.cancel", RPC_GUARDED, serve_cancel, "[id: str]", "cancel a task, waiting or running"},
    {"task.retry", RPC_GUARDED, serve_retry, "[id: str]",
     "queue a task again that failed for good"},
    {"task.list", RPC_GUARDED, serve_list,
     "[{state, method, tenant, key, older, newer, limit, cursor}]", "tasks, newest first"},
    {"task.explain", RPC_GUARDED, serve_explain, "[id: str]", "why a task is where it is"},
};
const struct rpc_methods rpc_kept_methods = {methods, sizeof methods / sizeof methods[0]};
