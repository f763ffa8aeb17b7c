/* The namespace queue.*, and server.audit. */
#include "server/rpc/job_requests.h"

static void serve_list(struct rpc_request *rq)
{
    job_request_bare(rq, &operation_queue_list);
}

static void serve_explain(struct rpc_request *rq)
{
    job_request_named(rq, &operation_queue_explain, "queue.explain takes [method]");
}

static void serve_pause(struct rpc_request *rq)
{
    job_request_named(rq, &operation_queue_pause, "queue.pause takes [method]");
}

static void serve_resume(struct rpc_request *rq)
{
    job_request_named(rq, &operation_queue_resume, "queue.resume takes [method]");
}

static void serve_drain(struct rpc_request *rq)
{
    job_request_named(rq, &operation_queue_drain, "queue.drain takes [method]");
}

static void serve_audit(struct rpc_request *rq)
{
    job_request_bare(rq, &operation_audit);
}

static const struct rpc_method methods[] = {
    {"queue.list", RPC_GUARDED, RPC_USES, serve_list, "[]",
     "the queues, one per method, and their figures"},
    {"queue.explain", RPC_GUARDED, RPC_USES, serve_explain, "[method: str]",
     "why a queue flows or does not"},
    {"queue.pause", RPC_GUARDED, RPC_RULES, serve_pause, "[method: str]",
     "start no more of its tasks; new ones are taken"},
    {"queue.resume", RPC_GUARDED, RPC_RULES, serve_resume, "[method: str]",
     "end a pause or a drain"},
    {"queue.drain", RPC_GUARDED, RPC_RULES, serve_drain, "[method: str]",
     "take no new tasks; those that are there are run"},
    {"server.audit", RPC_GUARDED, RPC_USES, serve_audit, "[]",
     "do the accounts of all tasks balance?"},
};
const struct rpc_methods rpc_queue_methods = {methods, sizeof methods / sizeof methods[0]};
