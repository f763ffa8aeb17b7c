/* The namespace queue.*, and server.audit. */
#include "server/rpc/job_requests.h"

static void serve_list(struct rpc_request *rq)
{
    job_request_bare(rq, &operation_queue_list);
}

static bool read_cursor(struct reader *r, void *out)
{
    uint64_t *cursor = out;
    struct span text;
    bool good = read_text(r, &text) && text.len > 0 && text.len < 10;

    *cursor = 0;
    for (uint32_t i = 0; good && i < text.len; i++) {
        good = text.at[i] >= '0' && text.at[i] <= '9';
        *cursor = *cursor * 10 + (uint64_t)(text.at[i] - '0');
    }
    return good;
}

static void serve_tenants(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_queue_tenants, 0))
        return;
    const struct option own[] = {
        {"cursor", read_cursor, &jr.op->list.cursor, "what `next` of the page before said"}};
    if (jr.count > 1)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "queue.tenants takes [{cursor}]");
    else if (jr.count == 0 || rpc_read_options(rq, &jr.r, own, 1)) {
        jr.answer = LIST_BYTES_MAX;
        job_request_send(&jr, false);
        return;
    }
    job_request_abort(&jr);
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
    {"queue.tenants", RPC_GUARDED, RPC_USES, serve_tenants, "[{cursor}]",
     "what each tenant holds: open tasks, and those that have ended and are kept"},
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
