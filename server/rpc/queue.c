/* The namespace queue.*, and server.audit. */
#include "server/rpc/orders.h"

static void serve_plain(struct rpc_request *rq, const struct operation_class *cls,
                        const char *usage)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, cls, 0))
        return;
    if (b.count == 0) {
        job_request_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", usage);
    job_request_abort(&b);
}

static void serve_named(struct rpc_request *rq, const struct operation_class *cls,
                        const char *usage)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, cls, 0))
        return;
    if (b.count == 1 && option_name(&b.r, &b.op->named.name)) {
        job_request_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", usage);
    job_request_abort(&b);
}

static void serve_list(struct rpc_request *rq)
{
    serve_plain(rq, &operation_queue_list, "queue.list takes []");
}

static void serve_explain(struct rpc_request *rq)
{
    serve_named(rq, &operation_queue_explain, "queue.explain takes [method]");
}

static void serve_pause(struct rpc_request *rq)
{
    serve_named(rq, &operation_queue_pause, "queue.pause takes [method]");
}

static void serve_resume(struct rpc_request *rq)
{
    serve_named(rq, &operation_queue_resume, "queue.resume takes [method]");
}

static void serve_drain(struct rpc_request *rq)
{
    serve_named(rq, &operation_queue_drain, "queue.drain takes [method]");
}

static void serve_audit(struct rpc_request *rq)
{
    serve_plain(rq, &operation_audit, "server.audit takes []");
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
