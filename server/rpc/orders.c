#include "server/rpc/orders.h"

#include <stdarg.h>
#include <stdio.h>

void order_defaults(const struct ask_build *b, struct order *o)
{
    order_init(o);
    o->params = span_text("\xc0");
    o->tenant = b->ask->principal;
    o->confined = b->ask->confined;
    bool lasts = b->ask->verb != ASK_CALL && b->rq->loop->shared->has_store;
    o->durable = lasts ? LEDGER_FSYNC : LEDGER_NONE;
    if (b->ask->verb == ASK_CALL)
        o->keep = 0; /* its answer is all that is wanted */
}

bool order_refuse(struct ask_build *b, enum ergon_error error, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (b->item > 0)
        rpc_refuse(b->rq, error, "task %u of the list: %s", (unsigned)b->item, text);
    else
        rpc_refuse(b->rq, error, "%s", text);
    return false;
}

bool order_may_run(struct ask_build *b, struct span method)
{
    if (!rpc_admit(b->rq, method, RPC_GUARDED))
        return false;
    if (rpc_find_handler(b->rq->loop, method))
        return true;
    return order_refuse(b, ERGON_E_NO_METHOD,
                        "no handler \"%.*s\"; server.methods lists what there is",
                        (int)(method.len < 256 ? method.len : 256), (const char *)method.at);
}

bool order_may_share(struct ask_build *b, const struct order *o)
{
    const struct ask *a = b->ask;

    if (!a->confined || span_equal(o->tenant, a->principal))
        return true;
    return order_refuse(b, ERGON_E_DENIED,
                        "%.*s may not submit for another tenant: leave `tenant` out, or have "
                        "\"task.any\" added to what it may call",
                        (int)a->principal.len, (const char *)a->principal.at);
}

bool order_options(struct ask_build *b, struct order *o, const struct order_more *more)
{
    char error[200];

    if (order_read_options(&b->r, o, &b->ids, more, error, sizeof error))
        return order_may_share(b, o);
    return order_refuse(b, ERGON_E_BAD_PARAMS, "%s", error);
}

bool order_read(struct ask_build *b, struct order *o, uint32_t count, const char *usage)
{
    if (count < 1 || count > 3 || !read_text(&b->r, &o->method) ||
        (count > 1 && !read_any(&b->r, &o->params)))
        return order_refuse(b, ERGON_E_BAD_PARAMS, "%s", usage);
    return order_may_run(b, o->method) && (count < 3 || order_options(b, o, NULL));
}
