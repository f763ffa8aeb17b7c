/* The namespace server.*, what a client says to its connection: hello, auth, ping, cancel. */
#include "server/net/auth/token.h"
#include "server/net/serving.h"
#include "server/rpc/census.h"
#include "server/rpc/job_requests.h"
#include "server/rpc/trail.h"
#include "server/workers/worker_events.h"
#include "base/log.h"

enum { LOOKS_A_MESSAGE = 64 /* at calls in flight; see conn_worked() */ };

static bool read_shape(struct reader *r, void *out)
{
    static const char *const names[] = {
        [ERROR_SHAPE_TEXT] = "text", [ERROR_SHAPE_PAIR] = "pair", [ERROR_SHAPE_MAP] = "map"};
    struct reader before = *r;
    struct span name;
    uint8_t *shape = out;

    if (!read_text(r, &name))
        return false;
    for (uint8_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (span_is(name, names[i])) {
            *shape = i;
            return true;
        }
    *r = before;
    return false;
}

static bool read_flag(struct reader *r, void *out)
{
    return read_bool(r, out);
}

static void answer_hello(struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);
    const struct rpc_shared *s = rq->loop->shared;
    struct pack p;

    pack_init(&p);
    pack_map(&p, 6);
    pack_key_str(&p, "server", "ergon");
    pack_key_str(&p, "version", who ? ERGON_VERSION : NULL); /* no help to an attacker */
    pack_key_uint(&p, "protocol", 1);
    pack_key_str(&p, "principal", who ? principal_name(who) : NULL);
    pack_key_uint(&p, "methods", registry_count(s->registry));
    pack_str(&p, "limits");
    pack_map(&p, 3);
    pack_key_uint(&p, "message", s->limits.scan.message_max);
    pack_key_uint(&p, "depth", s->limits.scan.depth_max);
    pack_key_uint(&p, "in_flight", s->limits.in_flight);
    rpc_answer_packed(rq, &p);
}

/* server.hello [{errors, raw, push, half_close}]: how this peer wants to be answered, from this
 * answer on, and what its FIN means. */
void serve_server_hello(struct rpc_request *rq)
{
    struct conn_mode wanted = *conn_mode(rq->conn);
    bool half_close = !wanted.fin_ends;
    const struct option options[] = {
        {"errors", read_shape, &wanted.error_shape, "\"text\", \"pair\" or \"map\""},
        {"raw", read_flag, &wanted.raw, "true or false"},
        {"push", read_flag, &wanted.push, "true or false"},
        {"half_close", read_flag, &half_close, "true or false"},
    };
    struct reader r;
    uint32_t count;

    read_params(rq->params, &r, &count);
    if (count > 1) {
        rpc_refuse_params(rq, "");
        return;
    }
    if (count == 1 && !rpc_read_options(rq, &r, options, sizeof options / sizeof options[0]))
        return;
    wanted.fin_ends = !half_close;
    *conn_mode(rq->conn) = wanted;
    answer_hello(rq);
}

/* server.auth [token] */
void serve_server_auth(struct rpc_request *rq)
{
    const struct token_table *tokens = conn_tokens(rq->conn);
    struct span token;

    if (!rpc_read_only(rq, read_text, &token))
        return;
    const struct principal *who = tokens ? token_table_find(tokens, token) : NULL;
    if (!who) {
        rpc_refuse(rq, ERGON_E_AUTH, tokens ? "no such token" : "this server has no token file");
        trail_not_authenticated(rq);
        conn_auth_failed(rq->conn);
        return;
    }
    if (conn_serves(rq->conn) &&
        strcmp(principal_name(who), principal_name(conn_principal(rq->conn))) != 0) {
        rpc_refuse(rq, ERGON_E_DENIED,
                   "workers are registered on this connection for %s: it stays that",
                   principal_name(conn_principal(rq->conn)));
        return;
    }
    conn_set_principal(rq->conn, who);
    trail_authenticated(rq);
    log_info("authenticated", LOG_UINT("conn", conn_id(rq->conn)),
             LOG_PEER("peer", conn_peer(rq->conn)), LOG_STR("principal", principal_name(who)));
    struct pack p;
    pack_init(&p);
    pack_str(&p, principal_name(who));
    rpc_answer_packed(rq, &p);
}

void serve_server_ping(struct rpc_request *rq)
{
    rpc_answer(rq, span_text("\xa4pong"));
}

static bool has_msgid(const struct call *c, uint64_t id)
{
    struct reader r = reader_of(span_of(c->msgid, c->msgid_len));
    uint64_t other;

    return c->msgid_len > 0 && read_uint(&r, &other) && other == id;
}

/* A client packs an id as it likes, so ids are compared by value. */
static struct call *call_of_msgid(struct connection *conn, uint64_t id)
{
    struct call *c = *conn_user(conn);
    size_t looks = 0;

    for (; c && !has_msgid(c, id); c = c->next)
        looks++;
    conn_worked(conn, looks / LOOKS_A_MESSAGE);
    return c;
}

/* server.cancel [msgid]: a call of this very connection, which is answered CANCELLED. */
void serve_server_cancel(struct rpc_request *rq)
{
    struct reader r;
    uint32_t count;
    uint64_t msgid;

    read_params(rq->params, &r, &count);
    if (count != 1) {
        rpc_refuse_params(rq, "");
        return;
    }
    struct call *call = read_uint(&r, &msgid) ? call_of_msgid(rq->conn, msgid) : NULL;
    if (call && call_is_worker_wait(call))
        call = NULL; /* a message to the manager cannot be taken back */
    if (call && call_is_operation(call))
        job_request_cancel(rq->loop, call);
    else if (call && call_is_census(call))
        census_cancel(call);
    else if (call)
        home_cancel(rq->loop->home, call);
    rpc_answer(rq, span_text(call ? "\xc3" : "\xc2"));
}
