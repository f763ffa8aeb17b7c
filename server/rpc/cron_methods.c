/* The namespace cron.*: tasks by calendar. */
#include "server/rpc/read_spec.h"

static const char put_usage[] =
    "cron.put takes [name, schedule, method, [params], {zone, jitter, catch_up, overlap, and "
    "options of its tasks}]; a name is UTF-8";

static bool read_names(struct job_request *jr, struct cron_spec *c)
{
    if (jr->count >= 3 && jr->count <= 5 && option_name(&jr->r, &c->name) &&
        read_text(&jr->r, &c->schedule) && read_text(&jr->r, &c->task.method) &&
        (jr->count < 4 || rpc_read_any(jr->rq, jr->params, &jr->r, &c->task.params)))
        return true;
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "%s", put_usage);
    return false;
}

static bool read_options(struct job_request *jr, struct cron_spec *c)
{
    char error[200];

    if (jr->count < 5 || spec_read_cron_options(&jr->r, c, error, sizeof error))
        return spec_may_share(jr, &c->task);
    rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "%s", error);
    return false;
}

static void serve_put(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_cron_put, 0))
        return;
    struct cron_spec *c = &jr.op->cron;
    spec_defaults(&jr, &c->task);
    c->made_by = span_text(rights_owner(jr.op->rights).name);
    if (read_names(&jr, c) && spec_may_run(&jr, c->task.method) && read_options(&jr, c))
        job_request_send(&jr, false);
    else
        job_request_abort(&jr);
}

static void serve_list(struct rpc_request *rq)
{
    job_request_bare(rq, &operation_cron_list);
}

static bool read_which(struct job_request *jr, struct name_arguments *which)
{
    const struct option own[] = {{"tenant", option_name, &which->tenant, "whose it is: a name"}};

    if (jr->count < 1 || jr->count > 2 || !option_name(&jr->r, &which->name)) {
        rpc_refuse(jr->rq, ERGON_E_BAD_PARAMS, "%s takes [name, {tenant}]", jr->op->cls->method);
        return false;
    }
    return jr->count == 1 || rpc_read_options(jr->rq, &jr->r, own, 1);
}

static void serve_named(struct rpc_request *rq, const struct operation_class *cls)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, cls, 0))
        return;
    struct name_arguments *which = &jr.op->named;
    which->tenant = jr.op->tenant;
    if (read_which(&jr, which)) {
        job_request_keep(&jr, &which->name);
        job_request_keep(&jr, &which->tenant);
        job_request_send(&jr, false);
        return;
    }
    job_request_abort(&jr);
}

static void serve_delete(struct rpc_request *rq)
{
    serve_named(rq, &operation_cron_delete);
}

static void serve_pause(struct rpc_request *rq)
{
    serve_named(rq, &operation_cron_pause);
}

static void serve_resume(struct rpc_request *rq)
{
    serve_named(rq, &operation_cron_resume);
}

static const struct rpc_method methods[] = {
    {"cron.put", RPC_GUARDED, RPC_RULES, serve_put,
     "[name: str, schedule: str, method: str, [params], {zone, jitter, catch_up, overlap, ...}]",
     "submit a task by calendar"},
    {"cron.list", RPC_GUARDED, RPC_USES, serve_list, "[]", "the crons, and when each comes next"},
    {"cron.delete", RPC_GUARDED, RPC_RULES, serve_delete, "[name: str, {tenant: str}]",
     "forget a cron"},
    {"cron.pause", RPC_GUARDED, RPC_RULES, serve_pause, "[name: str, {tenant: str}]",
     "a cron submits nothing any more, until it is resumed"},
    {"cron.resume", RPC_GUARDED, RPC_RULES, serve_resume, "[name: str, {tenant: str}]",
     "a cron submits again, from its next time on"},
};
const struct rpc_methods rpc_cron_methods = {methods, sizeof methods / sizeof methods[0]};
