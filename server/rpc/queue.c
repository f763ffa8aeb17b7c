/* The namespace queue.*, and server.audit. */
#include "server/rpc/orders.h"

static void serve_plain(struct rpc_request *rq, enum operation_kind verb, const char *usage)
{
    struct operation_build b;

    if (!operation_begin(&b, rq, verb, 0))
        return;
    if (b.count == 0) {
        operation_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", usage);
    operation_abort(&b);
}

static void serve_named(struct rpc_request *rq, enum operation_kind verb, const char *usage)
{
    struct operation_build b;

    if (!operation_begin(&b, rq, verb, 0))
        return;
    if (b.count == 1 && option_name(&b.r, &b.op->name)) {
        operation_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", usage);
    operation_abort(&b);
}

static void serve_list(struct rpc_request *rq)
{
    serve_plain(rq, OPERATION_QUEUE_LIST, "queue.list takes []");
}

static void serve_explain(struct rpc_request *rq)
{
    serve_named(rq, OPERATION_QUEUE_EXPLAIN, "queue.explain takes [method]");
}

static void serve_pause(struct rpc_request *rq)
{
    serve_named(rq, OPERATION_QUEUE_PAUSE, "queue.pause takes [method]");
}

static void serve_resume(struct rpc_request *rq)
{
    serve_named(rq, OPERATION_QUEUE_RESUME, "queue.resume takes [method]");
}

static void serve_drain(struct rpc_request *rq)
{
    serve_named(rq, OPERATION_QUEUE_DRAIN, "queue.drain takes [method]");
}

static void serve_audit(struct rpc_request *rq)
{
    serve_plain(rq, OPERATION_AUDIT, "server.audit takes []");
}

static const struct rpc_method methods[] = {
    {"queue.list", RPC_GUARDED, serve_list, "[]", "the queues, one per method, and their figures"},
    {"queue.explain", RPC_GUARDED, serve_explain, "[method: str]", "why a queue flows or does not"},
    {"queue.pause", RPC_GUARDED, serve_pause, "[method: str]",
     "start no more of its tasks; new ones are taken"},
    {"queue.resume", RPC_GUARDED, serve_resume, "[method: str]", "end a pause or a drain"},
    {"queue.drain", RPC_GUARDED, serve_drain, "[method: str]",
     "take no new tasks; those that are there are run"},
    {"server.audit", RPC_GUARDED, serve_audit, "[]", "do the accounts of all tasks balance?"},
};
const struct rpc_methods rpc_queue_methods = {methods, sizeof methods / sizeof methods[0]};
