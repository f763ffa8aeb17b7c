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
static bool read_options(struct operation_build *b, const struct option *options, uint32_t count)
{
    if (b->count <= 2)
        return b->count < 2 || options_read(b->rq, &b->r, options, count);
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "behind the id come options in one map, and no more");
    return false;
}

/* [id, {options}] or [ids, {options}]: reads the options, and sends. */
static void send_with(struct operation_build *b, const struct option *options, uint32_t count,
                      bool poll)
{
    if (read_options(b, options, count))
        operation_send(b, poll);
    else
        operation_abort(b);
}

/* [id] */
static void serve_id(struct rpc_request *rq, enum operation_kind verb, const char *usage)
{
    struct operation_build b;

    if (!operation_begin(&b, rq, verb, 0))
        return;
    if (operation_read_id(&b, usage))
        send_with(&b, NULL, 0, false);
    else
        operation_abort(&b);
}

static void serve_get(struct rpc_request *rq)
{
    struct operation_build b;

    if (!operation_begin(&b, rq, OPERATION_GET, 0))
        return;
    b.op->with_result = true;
    const struct option options[] = {
        {"result", option_flag, &b.op->with_result, "true or false"},
        {"history", option_flag, &b.op->with_history, "true or false"},
    };
    if (operation_read_id(&b, "task.get takes [id, {result, history}]"))
        send_with(&b, options, 2, false);
    else
        operation_abort(&b);
}

static void serve_wait(struct rpc_request *rq)
{
    struct operation_build b;

    if (!operation_begin(&b, rq, OPERATION_WAIT, 0))
        return;
    b.op->with_result = true;
    b.op->timeout = poll_time;
    const struct option options[] = {
        {"timeout", read_poll, &b.op->timeout, EXPECTS_POLL},
        {"any", option_flag, &b.op->any, "true or false"},
        {"result", option_flag, &b.op->with_result, "true or false"},
    };
    if (operation_read_ids(&b, "task.wait takes [id or [ids], {timeout, any, result}]"))
        send_with(&b, options, 3, true);
    else
        operation_abort(&b);
}

/* A watcher that is pushed to waits as long as the task lives, unless it says otherwise. */
static void send_watch(struct operation_build *b, bool given)
{
    struct operation *op = b->op;

    if (op->push && !conn_mode(b->rq->conn)->push) {
        rpc_refuse(b->rq, ERGON_E_BAD_PARAMS,
                   "push is for connections that said server.hello [{push: true}]");
        operation_abort(b);
        return;
    }
    if (!given)
        op->timeout = op->push ? AO_NEVER : poll_time;
    if (op->max > EVENTS_MOST)
        op->max = EVENTS_MOST;
    operation_send(b, true);
}

static void serve_watch(struct rpc_request *rq)
{
    struct operation_build b;

    if (!operation_begin(&b, rq, OPERATION_WATCH, 0))
        return;
    struct operation *op = b.op;
    op->from = 1;
    op->max = EVENTS;
    op->timeout = AO_NEVER;
    const struct option options[] = {
        {"from", option_count, &op->from, "the number of an event, from 1"},
        {"max", option_count, &op->max, "a number from 1"},
        {"timeout", read_poll, &op->timeout, EXPECTS_POLL},
        {"push", option_flag, &op->push, "true or false"},
    };
    if (!operation_read_id(&b, "task.watch takes [id, {from, max, timeout, push}]") ||
        !read_options(&b, options, 4))
        operation_abort(&b);
    else
        send_watch(&b, op->timeout != AO_NEVER);
}

static void serve_cancel(struct rpc_request *rq)
{
    serve_id(rq, OPERATION_CANCEL, "task.cancel takes [id]");
}

static void serve_retry(struct rpc_request *rq)
{
    serve_id(rq, OPERATION_RETRY, "task.retry takes [id]");
}

static void serve_explain(struct rpc_request *rq)
{
    serve_id(rq, OPERATION_EXPLAIN, "task.explain takes [id]");
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
    struct operation_build b;

    if (!operation_begin(&b, rq, OPERATION_LIST, 0))
        return;
    struct job_filter *f = &b.op->filter;
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
        operation_abort(&b);
        return;
    }
    f->has_method = f->method.len > 0;
    f->has_tenant = f->tenant.len > 0;
    f->has_key = f->key.len > 0;
    if (f->max > PAGE_MOST)
        f->max = PAGE_MOST;
    operation_send(&b, false);
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
