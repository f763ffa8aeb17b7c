#include "server/rpc/method.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/recorder.h"
#include "base/tracepoint.h"
#include "server/net/holdings.h"
#include "server/net/serving.h"
#include "server/rpc/call_log.h"
#include "server/runtime/activator.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/held_bytes.h"

/* --- Which method it is --- */

/* The one that was served last is likely the next; no handler has its name. */
static bool is_recent_own(const struct rpc_loop *loop, struct span name)
{
    return loop->recent_own && span_is(name, loop->recent_own->name);
}

const struct rpc_method *rpc_find_own(struct rpc_loop *loop, struct span name)
{
    if (is_recent_own(loop, name))
        return loop->recent_own;
    for (uint32_t i = 0; i < METHOD_COUNT; i++)
        if (span_is(name, loop->methods[i].name))
            return loop->recent_own = &loop->methods[i];
    return NULL;
}

struct method *rpc_find_handler(struct rpc_loop *loop, struct span name)
{
    if (!loop->recent || !span_equal(loop->recent->name, name)) {
        struct method *m = NULL;
        if (!is_recent_own(loop, name))
            m = registry_find(loop->shared->registry, name);
        if (!m)
            return NULL;
        loop->recent = m;
    }
    return loop->recent;
}

const char *rpc_where_else(struct span name)
{
    /* Clients often call these: examples use them, and earlier servers had them. */
    static const char *const demo[] = {"sleep", "block", "burn",    "fail",
                                       "flaky", "later", "progress"};

    for (size_t i = 0; i < sizeof demo / sizeof *demo; i++)
        if (span_is(name, demo[i]))
            return "the module demo has it, which is loaded when asked for: ergond --module demo";
    return "server.methods lists what there is";
}

/* --- Whether it may be called, and the call --- */

void rpc_refuse_params(struct rpc_request *rq, const char *more)
{
    const struct rpc_method *own = rq->loop->recent_own;

    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s takes %s%s", own->name, own->params, more);
}

bool rpc_read_only(struct rpc_request *rq, bool (*read)(struct reader *r, struct span *out),
                   struct span *out)
{
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count == 1 && read(&r, out))
        return true;
    rpc_refuse_params(rq, "");
    return false;
}

bool rpc_read_any(const struct rpc_request *rq, struct span params, struct reader *r,
                  struct span *raw)
{
    const uint8_t *first;
    const struct scan_notes *notes = conn_message_notes(rq->conn, &first);
    uint32_t len = 0;

    if (notes->count > 0)
        len = scan_notes_find(notes, (size_t)(rq->params.at - first + (r->at - params.at)));
    if (len == 0)
        return read_any(r, raw);
    *raw = span_of(r->at, len);
    r->at += len;
    return true;
}

bool rpc_read_options(struct rpc_request *rq, struct reader *r, const struct option *options,
                      uint32_t count)
{
    char error[200];

    if (options_take(r, options, count, error, sizeof error))
        return true;
    rpc_refuse(rq, ERGON_E_BAD_PARAMS, "%s", error);
    return false;
}

static bool may_call(struct rpc_request *rq, struct span method, const void *lasting)
{
    uint64_t rights = conn_rights(rq->conn), spot = (uint64_t)(uintptr_t)lasting >> 3 ^ rights;
    struct rpc_verdict *v = &rq->loop->verdicts[(spot ^ spot >> 8) % RPC_VERDICTS];

    if (!lasting)
        return conn_may(rq->conn, method);
    if (v->rights != rights || v->name != lasting)
        *v = (struct rpc_verdict){rights, lasting, conn_may(rq->conn, method)};
    return v->may;
}

static bool admit(struct rpc_request *rq, struct span method, const void *lasting,
                  enum rpc_access access)
{
    const struct principal *p = conn_principal(rq->conn);
    int len = (int)(method.len < 256 ? method.len : 256);

    if (!p) {
        rpc_refuse(rq, ERGON_E_AUTH, "authentication required: call server.auth with a token");
        return false;
    }
    if (access == RPC_KNOWN || may_call(rq, method, lasting))
        return true;
    if (principal_may(p, method))
        rpc_refuse(rq, ERGON_E_DENIED,
                   "%s may not call \"%.*s\" here: the listener's `allow` lacks it",
                   principal_name(p), len, (const char *)method.at);
    else
        rpc_refuse(
            rq, ERGON_E_DENIED,
            "%s may not call \"%.*s\": a role, or its line in the token file, has to name it",
            principal_name(p), len, (const char *)method.at);
    return false;
}

bool rpc_admit(struct rpc_request *rq, struct span method, const void *lasting,
               enum rpc_access access)
{
    return conn_unlimited(rq->conn) || access == RPC_OPEN || admit(rq, method, lasting, access);
}

bool rpc_others_count(const struct connection *c)
{
    const char *allow = conn_allow(c);

    return !allow || patterns_fit(allow, span_text("task.any"));
}

bool rpc_may_begin(struct rpc_request *rq, uint64_t bytes)
{
    struct rpc_stats *stats = &rq->loop->stats;
    bool kept = rq->loop->kept;

    if (kept ? conn_has_room(rq->conn, bytes) : conn_may_begin(rq->conn, bytes))
        return true;
    if (kept || conn_serves(rq->conn)) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "there is no room for what it holds; what a worker asks is not "
                   "kept waiting");
        return false;
    }
    counter_add(rq->msgid.len > 0 ? &stats->requests : &stats->notifications, (uint64_t)-1);
    rq->loop->outcome = NULL; /* it comes again */
    return false;
}

static bool may_begin(struct rpc_request *rq, struct method *m, uint64_t bytes)
{
    if (!rpc_may_begin(rq, bytes))
        return false;
    if (m->handler->kind == ERGON_STEPPED)
        method_lower_reserve(m);
    return true;
}

static void trace_call(const struct rpc_request *rq, const struct method *m)
{
    TRACEPOINT5(call, home_next_number(rq->loop->home), m->name.at, m->name.len, conn_id(rq->conn),
                activator_now(rq->loop->activator));
}

static void refuse_without_actor(struct rpc_request *rq, const struct method *m)
{
    struct span type = actor_type_of_method(m->name);

    rpc_refuse(
        rq, ERGON_E_BAD_PARAMS,
        "\"%s\" is a method of actors: actor.call [\"%.*s/KEY\", \"%s\", [...]] sends it to one",
        method_name(m), (int)type.len, (const char *)type.at, method_name(m) + type.len + 1);
}

void rpc_start_call(struct rpc_request *rq, struct method *m, struct span params, ao_time deadline,
                    const struct trace_link *trace)
{
    const struct call_request request = {.owner = rq->conn,
                                         .list = (struct call **)conn_user(rq->conn),
                                         .msgid = rq->msgid,
                                         .params = params,
                                         .deadline = deadline,
                                         .tally = conn_tally(rq->conn),
                                         .trace = trace};

    uint64_t wants = method_wants(m, params.len);
    if (wants > 0 && !may_begin(rq, m, wants))
        return;
    conn_call_began(rq->conn, true);
    if (tracepoint_watched(call))
        trace_call(rq, m);
    enum ergon_error refused = home_call(rq->loop->home, m, &request);
    if (refused == ERGON_OK)
        return;
    bool full = refused == ERGON_E_BUSY && home_calls_full(conn_tally(rq->conn));
    if (refused == ERGON_E_BAD_PARAMS && method_actor(m))
        refuse_without_actor(rq, m);
    else
        rpc_refuse(rq, refused, "%s",
                   full ? "you have as many calls in flight as you may (limits.principal_in_flight)"
                        : error_meaning(refused));
    if (full)
        conn_wait_for_room(rq->conn);
    conn_call_ended(rq->conn, true);
}

void rpc_open_call(struct rpc_request *rq, struct call *c, unsigned tag, bool counted)
{
    c->owner = rq->conn;
    c->list = (struct call **)conn_user(rq->conn);
    c->name = rq->loop->recent_own->name;
    c->began = activator_now(rq->loop->activator);
    c->tag = (uint8_t)tag;
    c->msgid_len = (uint8_t)rq->msgid.len;
    if (rq->msgid.len > 0)
        memcpy(c->msgid, rq->msgid.at, rq->msgid.len);
    call_link(c);
    conn_call_began(rq->conn, counted);
}

/* --- Answers --- */

void rpc_answer(struct rpc_request *rq, struct span result)
{
    if (rq->msgid.len == 0)
        return;
    answer_result(rq->conn, rq->msgid, result);
    if (log_has(LOG_DEBUG) && rq->loop->recent_own)
        call_log_answered(rq->conn, rq->loop->recent_own->name, rq->msgid, ERGON_OK);
}

void rpc_answer_packed(struct rpc_request *rq, struct pack *p)
{
    if (p->failed)
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    else
        rpc_answer(rq, pack_bytes(p));
    pack_fini(p);
}

void rpc_refuse(struct rpc_request *rq, enum ergon_error code, const char *format, ...)
{
    char text[400];
    va_list args;

    rpc_count_refused(&rq->loop->stats, code);
    recorder_note(activator_recorder(rq->loop->activator), RECORDER_REFUSED, code);
    rq->loop->outcome = error_name(code);
    if (rq->msgid.len == 0 && !log_has(LOG_DEBUG))
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    if (rq->loop->may_be_done && answer_is_unsure(code, text, sizeof text)) {
        code = ERGON_E_UNSURE;
        rq->loop->outcome = error_name(code);
    }
    call_log_refused(rq, code, text);
    if (rq->msgid.len == 0)
        return;
    answer_error(rq->conn, rq->msgid, code, NULL, span_text(text));
}
