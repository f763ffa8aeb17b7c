/* The namespace task.*: calls with options. */
#include "server/rpc/options.h"

static bool read_deadline(struct reader *r, void *out)
{
    return read_duration(r, out);
}

/* task.call [method, [params], {deadline}] */
static void serve_call(struct rpc_request *rq)
{
    struct reader r;
    struct span name, params = span_text("\xc0");
    uint32_t count;
    uint64_t within = UINT64_MAX;
    const struct option options[] = {{"deadline", read_deadline, &within,
                                      "a duration: milliseconds, or text such as \"250ms\""}};

    read_params(rq->params, &r, &count);
    if (count < 1 || count > 3 || !read_text(&r, &name) || (count > 1 && !read_any(&r, &params))) {
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "task.call takes [method, [params], {options}]");
        return;
    }
    if (count > 2 && !options_read(rq, &r, options, sizeof options / sizeof options[0]))
        return;
    struct method *m = registry_find(rq->loop->shared->registry, name);
    if (!rpc_admit(rq, name, RPC_GUARDED))
        return;
    if (!m) {
        rpc_refuse(rq, ERGON_E_NO_METHOD, "no handler \"%.*s\"; server.methods lists what there is",
                   (int)(name.len < 256 ? name.len : 256), (const char *)name.at);
        return;
    }
    ao_time now = activator_now(rq->loop->activator);
    rpc_start_call(rq, m, params, within >= AO_NEVER - now ? AO_NEVER : now + within);
}

static const struct rpc_method methods[] = {
    {"task.call", RPC_OPEN, serve_call, "[method: str, [params], {deadline: duration}]",
     "call a handler with options"},
};
const struct rpc_methods rpc_task_methods = {methods, sizeof methods / sizeof methods[0]};
