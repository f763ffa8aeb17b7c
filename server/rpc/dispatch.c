/* Where a message of a connection becomes a call, and where the end of a call becomes a response.
 *
 *   request       handler's name     -> task at home -> rpc_call_ended() -> response
 *                 another node's     -> passed on (rpc_remote)
 *                 server's own name  -> served here  -> response
 *                 any other          -> NO_METHOD
 *   notification  the same without a response; of an unknown method: ignored, counted
 *   response      of a worker -> the result of its task; else ignored, counted */
#include <inttypes.h>

#include <ergon/ao.h>

#include "server/net/connection/oversight.h"
#include "server/net/holdings.h"
#include "server/net/serving.h"
#include "server/rpc/call_log.h"
#include "server/rpc/census.h"
#include "server/rpc/job_requests.h"
#include "server/rpc/submit_many.h"
#include "server/rpc/task_filter.h"
#include "server/rpc/trail.h"
#include "server/tracing/tracer.h"
#include "server/workers/worker_events.h"
#include "base/log.h"

/* What proto/methods.h says of each method, with its function. */
#define SHAPE_OWN(id)  .serve = serve_##id
#define SHAPE_BARE(id) .serve = job_request_bare, .operation = &operation_##id
#define SHAPE_ID(id)   .serve = job_request_id, .operation = &operation_##id
#define SHAPE_ID_OR_FILTER(id)                                                                     \
    .serve = task_filter_or_id, .operation = &operation_##id, .matching = &operation_##id##_matching
#define SHAPE_NAME(id)           .serve = job_request_name, .operation = &operation_##id
#define SHAPE_NAME_OF_TENANT(id) .serve = job_request_name_of_tenant, .operation = &operation_##id

static const struct rpc_method methods[METHOD_COUNT] = {
#define X(id, name, access, audit, limits, shape, params, summary)                                 \
    [METHOD_##id] = {method_##id, RPC_##access, RPC_##audit,      RPC_##limits,                    \
                     params,      summary,      SHAPE_##shape(id)},
    ERGON_METHODS(X)
#undef X
};

/* A method without parameters is given none. */
static bool takes_them(struct rpc_request *rq, const struct rpc_method *own)
{
    struct reader r;
    uint32_t count;

    if (strcmp(own->params, "[]") != 0)
        return true;
    read_params(rq->params, &r, &count);
    if (count > 0)
        rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s takes [], and was given %" PRIu32, own->name, count);
    return count == 0;
}

/* Another node of the cluster serves it. */
static bool is_elsewhere(struct rpc_request *rq, const struct envelope *e,
                         const struct rpc_method *own)
{
    const struct rpc_loop *loop = rq->loop;

    return loop->remote && loop->remote->takes(loop->remote_arg, rq, e, own);
}

static void ignore_unknown(struct rpc_request *rq)
{
    counter_add(&rq->loop->stats.ignored, 1);
    log_debug("notification of an unknown method ignored", LOG_UINT("conn", conn_id(rq->conn)));
}

/* A name that no handler has: a method of the server's own, or an unknown one. */
static void serve_own(struct rpc_request *rq, const struct envelope *e)
{
    struct span name = e->method;
    const struct rpc_method *own = rpc_find_own(rq->loop, name);

    if (own) {
        if (!rpc_admit(rq, name, own->name, own->access))
            trail_refused(rq, own, rq->loop->outcome);
        else if (!is_elsewhere(rq, e, own) && takes_them(rq, own))
            trail_serve(rq, own);
        return;
    }
    if (rq->msgid.len == 0 && !rq->loop->remote) {
        ignore_unknown(rq);
        return;
    }
    if (!rpc_admit(rq, name, NULL, RPC_GUARDED) || is_elsewhere(rq, e, NULL))
        return;
    if (rq->msgid.len == 0)
        ignore_unknown(rq);
    else
        rpc_refuse(rq, ERGON_E_NO_METHOD, "no method \"%.*s\"; %s", (int)name.len,
                   (const char *)name.at, rpc_where_else(name));
}

/* A call that comes without a trace may begin one: NULL, it does not. */
__attribute__((noinline)) static const struct trace_link *sample(const struct rpc_loop *loop,
                                                                 struct trace_link *begun)
{
    *begun = (struct trace_link){0};
    return tracer_begins(loop->sampler, &begun->context) ? begun : NULL;
}

static void dispatch(struct rpc_loop *loop, struct connection *c, const struct envelope *e)
{
    struct rpc_request rq = {.loop = loop, .conn = c, .msgid = e->msgid, .params = e->params};
    struct method *m = rpc_find_handler(loop, e->method);
    const struct trace_link *trace = NULL;
    struct trace_link begun;

    if (__builtin_expect(loop->sampler != NULL, 0))
        trace = sample(loop, &begun);
    if (!m)
        serve_own(&rq, e);
    else if (rpc_admit(&rq, e->method, m->name.at, RPC_GUARDED))
        rpc_start_call(&rq, m, e->params, AO_NEVER, trace);
}

void rpc_serve_kept(struct rpc_loop *loop, struct connection *c, const struct envelope *e,
                    bool may_be_done)
{
    loop->kept = true;
    loop->may_be_done = may_be_done;
    dispatch(loop, c, e);
    loop->kept = loop->may_be_done = false;
}

/* Apart, so that a request does not save the registers that this needs. */
__attribute__((noinline)) static void on_response(struct rpc_loop *loop, struct connection *c,
                                                  const struct envelope *e)
{
    worker_answered(loop, c, e);
}

static void on_message(void *arg, struct connection *c, const struct envelope *e)
{
    struct rpc_loop *loop = arg;

    switch (e->type) {
    case ENVELOPE_REQUEST:
        counter_add(&loop->stats.requests, 1);
        dispatch(loop, c, e);
        return;
    case ENVELOPE_NOTIFICATION:
        counter_add(&loop->stats.notifications, 1);
        dispatch(loop, c, e);
        return;
    case ENVELOPE_RESPONSE:
        on_response(loop, c, e);
        return;
    }
}

static void on_call_ended_logged(void *arg, struct call *call, struct outcome *outcome)
{
    call_log_ended(call, outcome);
    rpc_call_ended(arg, call, outcome);
}

/* Calls that begin meanwhile end by the function that logs it, whenever that is. */
static void on_message_logged(void *arg, struct connection *c, const struct envelope *e)
{
    struct rpc_loop *loop = arg;

    if (e->type != ENVELOPE_RESPONSE)
        call_log_came(c, e);
    home_end_by(loop->home, on_call_ended_logged);
    on_message(arg, c, e);
    home_end_by(loop->home, rpc_call_ended);
}

/* Without debug records, no request pays for this question. */
static void choose_message(struct conn_port *port)
{
    port->message = log_has(LOG_DEBUG) ? on_message_logged : on_message;
}

/* What begins nothing that its connection would hold is served beyond its limits. */
static bool is_harmless(void *arg, const struct envelope *e)
{
    (void)arg;
    for (uint32_t i = 0; i < METHOD_COUNT; i++)
        if (methods[i].limits != RPC_COUNTED && span_is(e->method, methods[i].name))
            return methods[i].limits == RPC_HARMLESS || e->params.len == 1; /* [] */
    return false;
}

/* A notification has no answer to wait for, connected or not: it may finish its work.  One that
 * only waits has none; and what is still being read needs its rights. */
static bool outlives_peer(const struct connection *c, const struct call *call)
{
    return call->msgid_len == 0 && !call_is_poll(call) &&
           !(call_is_reading(call) && conn_was_shut_out(c));
}

/* The peer reads no answers any more: each waiting request of this connection is dropped, and each
 * running one is flagged. */
static void on_gone(void *arg, struct connection *c)
{
    struct rpc_loop *loop = arg;
    struct call *next;

    worker_gone(c, conn_why(c));
    if (loop->remote)
        loop->remote->gone(loop->remote_arg, c);
    for (struct call *call = *conn_user(c); call; call = next) {
        next = call->next;
        if (outlives_peer(c, call) && !conn_ends(c) && !conn_was_killed(c))
            continue;
        call->msgid_len = 0; /* the connection may still be open, but is not answered */
        if (call_is_operation(call))
            job_request_give_up(loop, call);
        else if (call_is_reading(call))
            submit_many_give_up(call);
        else if (call_is_census(call))
            census_give_up(call);
        else if (call_is_worker_wait(call))
            worker_wait_give_up(call);
        else
            home_abandon(loop->home, call);
    }
}

static void on_lowered(void *arg, struct connection *c)
{
    struct call *next;

    for (struct call *call = *conn_user(c); call; call = next) {
        next = call->next;
        if (call_is_operation(call) && call_is_poll(call))
            job_request_judge(arg, call);
    }
}

static void on_finished(void *arg, struct connection *c)
{
    const struct rpc_loop *loop = arg;

    worker_gone(c, conn_why(c));
    if (loop->remote)
        loop->remote->gone(loop->remote_arg, c);
}

static const struct principal *on_vouched(void *arg, struct connection *c)
{
    const struct rpc_loop *loop = arg;

    return loop->remote ? loop->remote->vouched(loop->remote_arg, c) : NULL;
}

/* cluster.session {...}: of a listener of nodes only. */
void serve_cluster_session(struct rpc_request *rq)
{
    const struct rpc_loop *loop = rq->loop;

    if (loop->remote)
        loop->remote->session(loop->remote_arg, rq);
    else
        rpc_refuse(rq, ERGON_E_NO_METHOD, "this server belongs to no cluster");
}

static void on_room(void *arg, struct connection *c)
{
    const struct rpc_loop *loop = arg;

    if (loop->remote)
        loop->remote->has_room(c);
}

static void on_flushed(void *arg, struct connection *c)
{
    if (!worker_flushed(c))
        on_room(arg, c);
}

struct conn_port rpc_port(struct rpc_loop *loop)
{
    loop->methods = methods;
    struct conn_port port = {.arg = loop,
                             .gone = on_gone,
                             .lowered = on_lowered,
                             .part = submit_many_read_part,
                             .finished = on_finished,
                             .flushed = on_flushed,
                             .has_room = on_room,
                             .vouched = on_vouched,
                             .harmless = is_harmless,
                             .reloaded = choose_message};

    choose_message(&port);
    return port;
}

void rpc_call_opened(void *arg, struct call *call)
{
    (void)arg;
    conn_hold_task(call->owner, (int64_t)call->held);
}

void rpc_call_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct connection *c = call->owner;

    (void)arg;
    if (call->msgid_len > 0)
        answer_outcome(c, span_of(call->msgid, call->msgid_len), outcome);
    if (call->held > 0)
        conn_hold_task(c, -(int64_t)call->held);
    conn_call_ended(c, true);
}
