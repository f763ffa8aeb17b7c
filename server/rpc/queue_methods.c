/* queue.tenants and cron.put; the other methods of these namespaces take no more than a name. */
#include "server/rpc/read_spec.h"

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

void serve_queue_tenants(struct rpc_request *rq)
{
    struct job_request jr;

    if (!job_request_begin(&jr, rq, &operation_queue_tenants, 0))
        return;
    const struct option own[] = {
        {"cursor", read_cursor, &jr.op->list.cursor, "what `next` of the page before said"}};
    if (jr.count > 1)
        rpc_refuse_params(rq, "");
    else if (jr.count == 0 || rpc_read_options(rq, &jr.r, own, 1)) {
        jr.answer = LIST_BYTES_MAX;
        job_request_send(&jr, false);
        return;
    }
    job_request_abort(&jr);
}

/* --- cron.put --- */

static bool read_names(struct job_request *jr, struct cron_spec *c)
{
    if (jr->count >= 3 && jr->count <= 5 && option_name(&jr->r, &c->name) &&
        read_text(&jr->r, &c->schedule) && read_text(&jr->r, &c->task.method) &&
        (jr->count < 4 || rpc_read_any(jr->rq, jr->params, &jr->r, &c->task.params)))
        return true;
    rpc_refuse_params(jr->rq, RPC_EXPECTS_NAME);
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

void serve_cron_put(struct rpc_request *rq)
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
