#include "server/rpc/read_spec.h"

#include <stdarg.h>
#include <stdio.h>

void spec_defaults(const struct job_request *jr, struct job_spec *spec)
{
    job_spec_init(spec);
    spec->params = span_text("\xc0");
    spec->tenant = jr->op->principal;
    spec->confined = jr->op->confined;
    bool lasts = jr->op->cls != &operation_call && jr->rq->loop->shared->has_store;
    spec->durable = lasts ? DURABLE_FSYNC : DURABLE_NONE;
    if (jr->op->cls == &operation_call)
        spec->keep = 0; /* its answer is all that is wanted */
}

bool spec_refuse(struct job_request *jr, enum ergon_error error, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (jr->item > 0)
        rpc_refuse(jr->rq, error, "task %u of the list: %s", (unsigned)jr->item, text);
    else
        rpc_refuse(jr->rq, error, "%s", text);
    return false;
}

bool spec_may_run(struct job_request *jr, struct span method)
{
    if (!rpc_admit(jr->rq, method, RPC_GUARDED))
        return false;
    const struct method *m = rpc_find_handler(jr->rq->loop, method);
    if (m && m->no_executor)
        return spec_refuse(jr, ERGON_E_NO_EXECUTOR, "%s", error_meaning(ERGON_E_NO_EXECUTOR));
    if (m)
        return true;
    return spec_refuse(jr, ERGON_E_NO_METHOD, "no handler \"%.*s\"; %s",
                       (int)(method.len < 256 ? method.len : 256), (const char *)method.at,
                       rpc_where_else(method));
}

bool spec_may_share(struct job_request *jr, const struct job_spec *spec)
{
    const struct operation *op = jr->op;

    if (!op->confined || span_equal(spec->tenant, op->principal))
        return true;
    return spec_refuse(jr, ERGON_E_DENIED,
                       "%.*s may not submit for another tenant: leave `tenant` out, or have "
                       "\"task.any\" added to what it may call",
                       (int)op->principal.len, (const char *)op->principal.at);
}

bool spec_options(struct job_request *jr, struct job_spec *spec)
{
    char error[200];

    if (spec_read_options(&jr->r, spec, &jr->ids, NULL, error, sizeof error))
        return spec_may_share(jr, spec);
    return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", error);
}

bool spec_read(struct job_request *jr, struct job_spec *spec, uint32_t count, const char *usage)
{
    if (count < 1 || count > 3 || !read_text(&jr->r, &spec->method) ||
        (count > 1 && !read_any(&jr->r, &spec->params)))
        return spec_refuse(jr, ERGON_E_BAD_PARAMS, "%s", usage);
    return spec_may_run(jr, spec->method) && (count < 3 || spec_options(jr, spec));
}
