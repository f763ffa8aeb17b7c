#include "server/rpc/trail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/audit.h"
#include "proto/show.h"

enum {
    SHOWN = 3,    /* parameters at most: ids, names, filters; none of a task's own */
    ON_MAX = 400, /* bytes of them */
    NAME_MAX_BYTES = 300,
    PEER_MAX_BYTES = 80,
    NODE_MAX = 64
};

struct act {
    const char *method; /* constant */
    uint64_t conn;
    char principal[NAME_MAX_BYTES], peer[PEER_MAX_BYTES], on[ON_MAX];
    char via[NODE_MAX]; /* the node that its peer came by; empty: this one */
};

static const char *name_of(const struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);

    return who ? principal_name(who) : "nobody";
}

static const char *via_of(const struct connection *c)
{
    const char *node = conn_via(c);

    return node ? node : "";
}

/* Whether the object will turn out to be the caller's own is not known before it is found, which
 * is on another thread: until then the record has its room, and then it may be forgotten. */
static bool reaches_others(const struct rpc_request *rq, const struct rpc_method *own)
{
    const struct principal *who = conn_principal(rq->conn);

    return who && rights_reach_others(principal_rights(who), span_text(own->name),
                                      rpc_others_count(rq->conn));
}

static bool is_act(const struct rpc_request *rq, const struct rpc_method *own)
{
    return own->audit == RPC_RULES || (own->audit == RPC_STEERS && reaches_others(rq, own));
}

static struct act *act_new(const struct rpc_request *rq, const struct rpc_method *own)
{
    struct act *a = malloc(sizeof *a);
    struct reader r;
    uint32_t count;

    if (!a)
        return NULL;
    a->method = own->name;
    a->conn = conn_id(rq->conn);
    snprintf(a->principal, sizeof a->principal, "%s", name_of(rq));
    snprintf(a->peer, sizeof a->peer, "%s", conn_peer(rq->conn));
    snprintf(a->via, sizeof a->via, "%s", via_of(rq->conn));
    a->on[0] = '\0';
    if (own->audit == RPC_SUBMITS)
        return a; /* its parameters are the task's own */
    read_params(rq->params, &r, &count);
    show_values(&r, count < SHOWN ? count : SHOWN, a->on, sizeof a->on);
    return a;
}

void trail_forget(struct act *a)
{
    if (a)
        audit_release();
    free(a);
}

/* False: it was refused. */
static bool begin(struct rpc_request *rq, const struct rpc_method *own)
{
    if (!audit_reserve()) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "this must be recorded in the audit log, which cannot be written fast enough");
        return false;
    }
    rq->loop->act = act_new(rq, own);
    if (rq->loop->act)
        return true;
    audit_release();
    rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    return false;
}

void trail_serve(struct rpc_request *rq, const struct rpc_method *own)
{
    struct rpc_loop *loop = rq->loop;

    loop->outcome = "ok";
    if (!is_act(rq, own) || begin(rq, own))
        own->serve(rq);
    trail_served(loop);
}

bool trail_pass_on(struct rpc_request *rq, const struct rpc_method *own, struct act **act)
{
    *act = NULL;
    if (!is_act(rq, own))
        return true;
    if (!begin(rq, own))
        return false;
    *act = trail_take(rq->loop);
    return true;
}

void trail_resume(const struct rpc_request *rq, const struct rpc_method *own, struct act *act)
{
    struct rpc_loop *loop = rq->loop;

    loop->recent_own = own;
    loop->outcome = "ok";
    loop->act = act;
}

void trail_served(struct rpc_loop *loop)
{
    if (!loop->act)
        return;
    if (loop->outcome)
        trail_end(trail_take(loop), loop->outcome);
    else
        trail_forget(trail_take(loop)); /* it waits for room, and is served when there is some */
}

/* --- Submissions --- */

static void show_submission(struct span method, struct span tenant, char *buf, size_t size)
{
    struct pack p;

    pack_init(&p);
    pack_map(&p, 2);
    pack_key_span(&p, "method", method);
    pack_key_span(&p, "tenant", tenant);
    buf[0] = '\0';
    if (!p.failed) {
        struct reader r = reader_of(pack_bytes(&p));
        show_values(&r, 1, buf, size);
    }
    pack_fini(&p);
}

/* Of a list of many each that differs from the one before it, as far as there is room. */
static void add_submission(struct act *a, struct span method, struct span tenant)
{
    char shown[ON_MAX - sizeof " ..."]; /* so that what says that there were more fits behind */
    size_t len = strlen(a->on);

    show_submission(method, tenant, shown, sizeof shown);
    size_t size = strlen(shown);
    if (len >= size && strcmp(a->on + len - size, shown) == 0)
        return;
    if (len + 1 + size + sizeof " ..." <= sizeof a->on || len == 0)
        snprintf(a->on + len, sizeof a->on - len, "%s%s", len > 0 ? " " : "", shown);
    else if (strcmp(a->on + len - 3, "...") != 0)
        memcpy(a->on + len, " ...", sizeof " ...");
}

bool trail_submission(struct rpc_request *rq, struct span method, struct span tenant)
{
    const struct principal *who = conn_principal(rq->conn);
    const struct rpc_method *own = rq->loop->recent_own;

    if (own->audit != RPC_SUBMITS || span_is(tenant, principal_tenant(who)) ||
        rights_unconfigured(principal_rights(who)))
        return true;
    if (!rq->loop->act && !begin(rq, own))
        return false;
    add_submission(rq->loop->act, method, tenant);
    return true;
}

bool trail_begin(struct rpc_request *rq)
{
    return rq->loop->act || begin(rq, rq->loop->recent_own);
}

struct act *trail_take(struct rpc_loop *loop)
{
    struct act *a = loop->act;

    loop->act = NULL;
    return a;
}

void trail_end(struct act *a, const char *outcome)
{
    if (!a)
        return;
    const struct log_field fields[] = {LOG_STR("principal", a->principal),
                                       LOG_STR("method", a->method),
                                       LOG_STR("outcome", outcome),
                                       LOG_STR("peer", a->peer),
                                       LOG_UINT("conn", a->conn),
                                       LOG_STR("on", a->on),
                                       LOG_STR("via", a->via[0] ? a->via : NULL),
                                       {0}};
    audit_write("administrative act", fields);
    free(a);
}

void trail_drop(struct act *a)
{
    trail_end(a, "unknown: the server has ended");
}

/* --- What was not done --- */

static void note_refused(const struct connection *c, const char *principal, const char *method,
                         const char *code)
{
    const struct log_field fields[] = {LOG_STR("principal", principal),
                                       LOG_STR("method", method),
                                       LOG_STR("outcome", code),
                                       LOG_PEER("peer", conn_peer(c)),
                                       LOG_UINT("conn", conn_id(c)),
                                       LOG_STR("via", conn_via(c)),
                                       {0}};
    audit_note(LOG_WARN, "administrative act refused", fields);
}

void trail_refused(const struct rpc_request *rq, const struct rpc_method *own, const char *code)
{
    if (own->audit == RPC_RULES && conn_principal(rq->conn))
        note_refused(rq->conn, name_of(rq), own->name, code);
}

void trail_submission_denied(const struct rpc_request *rq)
{
    if (!rq->loop->act)
        note_refused(rq->conn, name_of(rq), rq->loop->recent_own->name, error_name(ERGON_E_DENIED));
}

void trail_foreign_denied(const struct connection *c, const char *principal, const char *method)
{
    note_refused(c, principal, method, error_name(ERGON_E_DENIED));
}

/* --- Authentication --- */

static bool administrates(const struct rpc_request *rq, const struct rpc_method *own)
{
    if (own->audit == RPC_FOREIGN)
        return conn_may(rq->conn, span_text("worker.any"));
    return own->audit == RPC_RULES ? conn_may(rq->conn, span_text(own->name))
                                   : own->audit == RPC_STEERS && reaches_others(rq, own);
}

static bool may_administrate(const struct rpc_request *rq)
{
    for (uint32_t i = 0; i < METHOD_COUNT; i++)
        if (administrates(rq, &rq->loop->methods[i]))
            return true;
    return false;
}

static void note_who(const struct rpc_request *rq, enum log_level level, const char *event,
                     const char *who)
{
    const struct log_field fields[] = {LOG_PEER("peer", conn_peer(rq->conn)),
                                       LOG_UINT("conn", conn_id(rq->conn)),
                                       LOG_STR("principal", who),
                                       {0}};

    audit_note(level, event, fields);
}

/* The log tells both anyway. */
void trail_authenticated(const struct rpc_request *rq)
{
    if (audit_is_apart() && may_administrate(rq))
        note_who(rq, LOG_INFO, "administrator authenticated", name_of(rq));
}

void trail_not_authenticated(const struct rpc_request *rq)
{
    if (audit_is_apart())
        note_who(rq, LOG_WARN, "authentication failed", NULL);
}
