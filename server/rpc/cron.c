/* The namespace cron.*: tasks by calendar. */
#include "server/jobs/cron/cron_options.h"
#include "server/rpc/orders.h"

static const char put_usage[] =
    "cron.put takes [name, schedule, method, [params], {zone, jitter, catch_up, overlap, and "
    "options of its tasks}]; a name is UTF-8";

static bool read_names(struct job_request *b, struct cron_spec *c)
{
    if (b->count >= 3 && b->count <= 5 && option_name(&b->r, &c->name) &&
        read_text(&b->r, &c->schedule) && read_text(&b->r, &c->task.method) &&
        (b->count < 4 || read_any(&b->r, &c->task.params)))
        return true;
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "%s", put_usage);
    return false;
}

static bool read_options(struct job_request *b, struct cron_spec *c)
{
    char error[200];

    if (b->count < 5 || cron_read_options(&b->r, c, error, sizeof error))
        return spec_may_share(b, &c->task);
    rpc_refuse(b->rq, ERGON_E_BAD_PARAMS, "%s", error);
    return false;
}

static void serve_put(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_cron_put, 0))
        return;
    struct cron_spec *c = &b.op->cron;
    spec_defaults(&b, &c->task);
    if (read_names(&b, c) && spec_may_run(&b, c->task.method) && read_options(&b, c))
        job_request_send(&b, false);
    else
        job_request_abort(&b);
}

static void serve_list(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_cron_list, 0))
        return;
    if (b.count == 0) {
        job_request_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "cron.list takes []");
    job_request_abort(&b);
}

static void serve_delete(struct rpc_request *rq)
{
    struct job_request b;

    if (!job_request_begin(&b, rq, &operation_cron_delete, 0))
        return;
    if (b.count == 1 && option_name(&b.r, &b.op->named.name)) {
        job_request_send(&b, false);
        return;
    }
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "cron.delete takes [name]");
    job_request_abort(&b);
}

static const struct rpc_method methods[] = {
    {"cron.put", RPC_GUARDED, serve_put,
     "[name: str, schedule: str, method: str, [params], {zone, jitter, catch_up, overlap, ...}]",
     "submit a task by calendar"},
    {"cron.list", RPC_GUARDED, serve_list, "[]", "the crons, and when each comes next"},
    {"cron.delete", RPC_GUARDED, serve_delete, "[name: str]", "forget a cron"},
};
const struct rpc_methods rpc_cron_methods = {methods, sizeof methods / sizeof methods[0]};
