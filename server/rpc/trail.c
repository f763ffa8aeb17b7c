#include "server/rpc/trail.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/audit.h"
#include "proto/show.h"

enum {
    SHOWN = 3,    /* parameters at most: ids, names, filters; none of a task's own */
    ON_MAX = 400, /* bytes of them */
    NAME_MAX_BYTES = 300,
    PEER_MAX_BYTES = 80
};

struct act {
    const char *method; /* constant */
    uint64_t conn;
    char principal[NAME_MAX_BYTES], peer[PEER_MAX_BYTES], on[ON_MAX];
};

static const char *name_of(const struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);

    return who ? principal_name(who) : "nobody";
}

/* Who has rights over others steers what is theirs; everybody else only what is his own. */
static bool rules(const struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);

    return who && principal_may(who, span_text("task.any"));
}

static bool is_act(const struct rpc_request *rq, const struct rpc_method *own)
{
    return own->audit == RPC_RULES || (own->audit == RPC_STEERS && rules(rq));
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
    read_params(rq->params, &r, &count);
    show_values(&r, count < SHOWN ? count : SHOWN, a->on, sizeof a->on);
    return a;
}

/* Nothing was done: the message waits for room, and is served when there is some. */
static void forget(struct act *a)
{
    audit_release();
    free(a);
}

static void serve_act(struct rpc_request *rq, const struct rpc_method *own)
{
    struct rpc_loop *loop = rq->loop;

    if (!audit_reserve()) {
        rpc_refuse(rq, ERGON_E_BUSY,
                   "this must be recorded in the audit log, which cannot be written fast enough");
        return;
    }
    loop->act = act_new(rq, own);
    loop->outcome = "ok";
    if (loop->act) {
        own->serve(rq);
    } else {
        audit_release();
        rpc_refuse(rq, ERGON_E_MEMORY, "%s", error_meaning(ERGON_E_MEMORY));
    }
    if (loop->outcome)
        trail_end(trail_take(loop), loop->outcome);
    else
        forget(trail_take(loop));
}

void trail_serve(struct rpc_request *rq, const struct rpc_method *own)
{
    if (is_act(rq, own))
        serve_act(rq, own);
    else
        own->serve(rq);
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
                                       {0}};
    audit_write("administrative act", fields);
    free(a);
}

void trail_drop(struct act *a)
{
    trail_end(a, "unknown: the server has ended");
}

/* --- What was not done --- */

void trail_refused(const struct rpc_request *rq, const struct rpc_method *own, const char *code)
{
    if (own->audit != RPC_RULES || !conn_principal(rq->conn))
        return;
    const struct log_field fields[] = {LOG_STR("principal", name_of(rq)),
                                       LOG_STR("method", own->name),
                                       LOG_STR("outcome", code),
                                       LOG_PEER("peer", conn_peer(rq->conn)),
                                       LOG_UINT("conn", conn_id(rq->conn)),
                                       {0}};
    audit_note(LOG_WARN, "administrative act refused", fields);
}

/* --- Who comes --- */

static bool may_administrate(const struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);

    for (const struct rpc_methods *const *n = rq->loop->namespaces; *n; n++)
        for (uint32_t i = 0; i < (*n)->count; i++)
            if ((*n)->at[i].audit == RPC_RULES && principal_may(who, span_text((*n)->at[i].name)))
                return true;
    return rules(rq);
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
