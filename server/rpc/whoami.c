/* server.whoami: who the peer is, and what it may do: for programs that show what they can do for
 * somebody. */
#include <string.h>

#include "server/rpc/method.h"

/* A list of patterns, or nil. */
static void pack_patterns(struct pack *p, const char *key, const char *list)
{
    size_t count = list && *list ? 1 : 0;

    pack_str(p, key);
    if (!list) {
        pack_nil(p);
        return;
    }
    for (const char *at = list; (at = strchr(at, ',')); at++)
        count++;
    pack_array(p, count);
    for (const char *at = list; count > 0; count--) {
        size_t len = strcspn(at, ",");
        pack_span(p, span_of(at, len));
        at += len + (at[len] == ',');
    }
}

static void pack_grants(struct pack *p, const struct rights *r)
{
    struct rights_grant g;
    uint32_t count = 0;

    while (rights_grant(r, count, &g))
        count++;
    pack_str(p, "grants");
    pack_array(p, count);
    for (uint32_t i = 0; rights_grant(r, i, &g); i++) {
        pack_map(p, 4);
        pack_patterns(p, "methods", g.methods);
        pack_patterns(p, "tenants", g.tenants);
        pack_patterns(p, "queues", g.queues);
        pack_patterns(p, "keys", g.keys);
    }
}

static bool may(const struct connection *c, const struct rpc_method *own)
{
    return own->access != RPC_GUARDED || conn_may(c, span_text(own->name));
}

/* Of the server's own methods those that it may call, here. */
static void pack_methods(struct pack *p, struct rpc_request *rq)
{
    const struct rpc_methods *const *n;
    size_t count = 0;

    for (n = rq->loop->namespaces; *n; n++)
        for (uint32_t i = 0; i < (*n)->count; i++)
            count += may(rq->conn, &(*n)->at[i]);
    pack_str(p, "methods");
    pack_array(p, count);
    for (n = rq->loop->namespaces; *n; n++)
        for (uint32_t i = 0; i < (*n)->count; i++)
            if (may(rq->conn, &(*n)->at[i]))
                pack_str(p, (*n)->at[i].name);
}

static void pack_limits(struct pack *p, const struct rpc_shared *s)
{
    pack_str(p, "limits");
    pack_map(p, 5);
    pack_key_uint(p, "message", s->limits.scan.message_max);
    pack_key_uint(p, "depth", s->limits.scan.depth_max);
    pack_key_uint(p, "in_flight", s->limits.in_flight);
    pack_key_uint(p, "connection_bytes", s->limits.connection_bytes);
    pack_key_uint(p, "principal_bytes", accounts_limits(s->accounts)->bytes);
}

/* server.whoami [] */
static void serve_whoami(struct rpc_request *rq)
{
    const struct principal *who = conn_principal(rq->conn);
    const struct rights *rights = principal_rights(who);
    uint64_t expires = principal_expires(who);
    struct pack p;

    pack_init(&p);
    pack_map(&p, 9);
    pack_key_str(&p, "principal", principal_name(who));
    pack_key_str(&p, "tenant", principal_tenant(who));
    if (expires > 0)
        pack_key_uint(&p, "expires", expires / AO_MS(1));
    else
        pack_key_str(&p, "expires", NULL);
    pack_key_bool(&p, "unconfigured", rights_unconfigured(rights));
    pack_key_bool(&p, "others",
                  rights_may(rights, span_text("task.any")) && rpc_others_count(rq->conn));
    pack_grants(&p, rights);
    pack_patterns(&p, "allow", conn_allow(rq->conn));
    pack_methods(&p, rq);
    pack_limits(&p, rq->loop->shared);
    rpc_answer_packed(rq, &p);
}

static const struct rpc_method methods[] = {
    {"server.whoami", RPC_KNOWN, RPC_USES, serve_whoami, "[]", "who you are, and what you may do"},
};
const struct rpc_methods rpc_whoami_methods = {methods, sizeof methods / sizeof methods[0]};
