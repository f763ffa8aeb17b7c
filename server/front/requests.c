/* What a client sends that the owner has to answer, on its way to the owner. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "server/front/forward_private.h"
#include "server/net/holdings.h"
#include "server/net/serving.h"
#include "server/rpc/trail.h"

enum {
    POLLS_MAX = 1024,         /* of a connection at a time */
    KEEP_MOST = 65536,        /* bytes of a request that is kept until it is answered */
    RESPONSES_MOST = 64 << 20 /* bytes of a worker's responses that the owner has not read */
};

#define WAIT_LEAST AO_S(1)

/* --- Requests --- */

static enum passing passing_for(const struct rpc_request *rq, const struct rpc_method *own,
                                uint16_t *method)
{
    if (!own) {
        *method = PENDING_FOREIGN;
        return PASS_ONCE;
    }
    *method = (uint16_t)(own - rq->loop->methods);
    enum passing passing = passing_of(*method);
    if (passing == PASS_KEYED && (*method != METHOD_task_submit || !passing_has_key(rq->params)))
        return PASS_ONCE;
    if (passing == PASS_PUSHED && !passing_has_push(rq->params))
        return PASS_READ;
    return passing;
}

/* A long request that only the owner may do once is not copied.  If a planned hand-over comes
 * before the owner has read it, it is answered UNSURE. */
static bool keeps_bytes(const struct front *r, enum passing passing, const struct envelope *e)
{
    return !session_takes(r) || passing == PASS_READ || passing == PASS_KEYED ||
           message_room(e) <= KEEP_MOST;
}

static bool put_bytes(struct pending *p, const struct envelope *e)
{
    p->bytes = malloc(message_room(e));
    if (!p->bytes)
        return false;
    p->len = (uint32_t)(message_put(p->bytes, e) - p->bytes);
    return true;
}

static bool write_now(struct front *r, struct pending *p, const struct envelope *e)
{
    if (!session_greet_again(r))
        return false;
    if (p->bytes)
        return session_write(r, p);
    return session_write_message(r, p, e);
}

/* How long its client waits for it; at least as long as a session needs to begin. */
static ao_time waits_until(const struct front *r, const struct pending *p, struct span params)
{
    uint64_t time = passing_time(p->method, params);

    return clock_after(forward_now(r->forward), time > WAIT_LEAST ? time : WAIT_LEAST);
}

static void begin(struct front *r, struct pending *p, const struct envelope *e)
{
    struct forward *f = r->forward;

    counter_add(&f->stats.passed, 1);
    p->since = p->counts_from = forward_now(f);
    p->begin = PENDING_UNSENT;
    p->until = session_takes(r) ? AO_NEVER : waits_until(r, p, e->params);
    bool refuses = session_takes(r) && p->composes && !r->composes;
    bool good = refuses || !keeps_bytes(r, p->passing, e) || put_bytes(p, e);
    if (good && session_takes(r) && !refuses)
        good = write_now(r, p, e);
    pendings_add(&r->pendings, p, e->msgid);
    if (e->msgid.len > 0)
        conn_call_began(r->client, !p->polls);
    front_weigh_request(r, p);
    if (refuses) {
        front_refuses(r, p);
        return;
    }
    if (!good) {
        front_answer(r, p, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
        return;
    }
    front_weigh_output(r, outgoing_waits(&r->session));
    if (session_takes(r) && e->msgid.len == 0)
        front_settle(r, p, "ok");
    else if (!session_takes(r))
        session_seek(r);
}

/* A Unix user's name may mean another person on another machine. */
static bool is_kept_here(const struct forward *f, const struct rpc_request *rq)
{
    return !f->options.unix_users && principal_how(conn_principal(rq->conn)) == PRINCIPAL_UNIX;
}

/* False: it was refused, or is handed over again when the connection has room for it. */
static bool may_pass(const struct forward *f, struct rpc_request *rq, enum passing passing,
                     bool polls)
{
    if (passing_only_waits(passing, polls) &&
        atomic_load_explicit(&rq->loop->shared->draining, memory_order_relaxed)) {
        rpc_refuse(rq, ERGON_E_DRAINING, "%s", error_meaning(ERGON_E_DRAINING));
        return false;
    }
    if (is_kept_here(f, rq)) {
        rpc_refuse(rq, ERGON_E_DENIED,
                   "calls of users of this machine are not passed to another node (cluster.unix)");
        return false;
    }
    if (polls && conn_polls(rq->conn) >= POLLS_MAX) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "%d requests of this connection wait already; wait for several ids in one",
                   POLLS_MAX);
        return false;
    }
    return rq->params.len < SMALL_PARAMS || rpc_may_begin(rq, rq->params.len);
}

static void pass(struct forward *f, struct rpc_request *rq, const struct envelope *e,
                 const struct rpc_method *own)
{
    struct front *r = conn_session(rq->conn);
    uint16_t method;
    enum passing passing = passing_for(rq, own, &method);
    bool polls = own && passing_is_poll(method);

    if (!may_pass(f, rq, passing, polls))
        return;
    if (!r)
        r = front_new(f, rq->conn);
    struct pending *p = r ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
        return;
    }
    if (own && !trail_pass_on(rq, own, &p->act)) {
        free(p);
        return;
    }
    p->method = method;
    p->passing = (uint8_t)passing;
    p->polls = polls;
    p->composes = passing_composes(method, rq->params);
    begin(r, p, e);
}

/* --- server.cancel --- */

/* The request that the client wants to cancel; NULL: it was not passed on. */
static struct pending *meant(const struct front *r, const struct rpc_request *rq)
{
    struct reader reader;
    uint32_t count;
    uint64_t id;

    read_params(rq->params, &reader, &count);
    return r && count == 1 && read_uint(&reader, &id) ? pendings_of_number(&r->pendings, id) : NULL;
}

/* One that waits for an owner is cancelled here. */
static bool cancel_waiting(struct front *r, struct pending *p, struct rpc_request *rq)
{
    if (p->begin != PENDING_UNSENT)
        return false;
    front_answer(r, p, ERGON_E_CANCELLED, error_meaning(ERGON_E_CANCELLED));
    rpc_answer(rq, span_text("\xc3"));
    return true;
}

/* --- The port --- */

static bool takes(void *arg, struct rpc_request *rq, const struct envelope *e,
                  const struct rpc_method *own)
{
    struct forward *f = arg;
    enum passing passing =
        own ? passing_of((enum ergon_method)(own - rq->loop->methods)) : PASS_ONCE;

    if (passing == PASS_HERE || forward_serves_itself(f) || !conn_principal(rq->conn) ||
        conn_vouched(rq->conn))
        return false;
    if (passing == PASS_CANCEL) {
        struct front *r = conn_session(rq->conn);
        struct pending *p = meant(r, rq);
        if (!p)
            return false;
        if (cancel_waiting(r, p, rq))
            return true;
    }
    pass(f, rq, e, own);
    return true;
}

/* A worker answers the session that asked; when that is lost, its answer is dropped. */
static bool response(void *arg, struct connection *c, const struct envelope *e)
{
    struct front *r = conn_session(c);

    (void)arg;
    if (!r)
        return false;
    if (!r->greeted)
        return true;
    if (outgoing_waits(&r->session) > RESPONSES_MOST)
        conn_close(c, "the node that owns the tasks does not read its responses");
    else if (session_write_message(r, NULL, e))
        front_weigh_output(r, outgoing_waits(&r->session));
    else
        session_out_of_memory(r);
    return true;
}

static void has_room(struct connection *c)
{
    struct front *r = conn_session(c);

    if (r && r->session.full)
        outgoing_kick(&r->session);
}

/* The owner learns it by the end of the session, as it learns it of its own clients. */
static void gone(void *arg, struct connection *c)
{
    struct front *r = conn_session(c);
    struct pending *e, *next;

    (void)arg;
    if (!r)
        return;
    conn_set_session(c, NULL);
    for (e = TAILQ_FIRST(&r->pendings.all); e; e = next) {
        next = TAILQ_NEXT(e, next);
        front_settle(r, e, error_name(r->greeted ? ERGON_E_UNSURE : ERGON_E_CANCELLED));
    }
    if (r->greeted)
        counter_add(&r->forward->stats.sessions, (uint64_t)-1);
    r->greeted = false;
    front_weigh_output(r, 0);
    session_leave(r);
    r->client = NULL;
    if (!conn_ends(c))
        outgoing_end(&r->session);
}

/* cluster.session: another node's front speaks for its client. */
static void session(void *arg, struct rpc_request *rq)
{
    struct forward *f = arg;
    struct cluster_view view;

    f->options.roles.view(f->options.roles.cluster, &view);
    vouch_serve(rq, &view, &f->refusals);
}

static const struct principal *vouched(void *arg, struct connection *c)
{
    (void)arg;
    return vouch_again(c);
}

const struct rpc_remote forward_remote = {.takes = takes,
                                          .response = response,
                                          .has_room = has_room,
                                          .gone = gone,
                                          .session = session,
                                          .vouched = vouched};

/* --- This node has become the owner --- */

void front_serve_here(struct front *r)
{
    struct pending *e, *next;
    struct envelope message;
    const char *why;

    session_await_no_more(r);
    for (e = TAILQ_FIRST(&r->pendings.all); e && r->client; e = next) {
        next = TAILQ_NEXT(e, next);
        if (e->begin != PENDING_UNSENT || !e->bytes)
            continue;
        bool may_be_done = pending_may_be_done(e);
        uint32_t charged = e->len;
        pending_pass_time(e, forward_now(r->forward));
        uint8_t *bytes = e->bytes;
        uint32_t len = e->len;
        e->len = charged;
        e->bytes = NULL;
        struct connection *c = r->client;
        front_settle(r, e, NULL); /* to serve it records its act */
        if (envelope_read(span_of(bytes, len), &message, &why) == ENVELOPE_OK)
            rpc_serve_kept(r->forward->rpc, c, &message, may_be_done);
        free(bytes);
    }
}
