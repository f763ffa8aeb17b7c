/* The identity of a peer before its first message: by certificate, by the credentials of its
 * socket, or, where the listener asks for no authentication, by its address. */
#include <stdio.h>

#include "server/net/auth/peer.h"
#include "server/net/auth/token.h"
#include "server/net/connection/admit.h"
#include "server/net/connection/conn_output.h"
#include "server/net/connection/unauthenticated.h"

static const char names_nobody[] =
    "the client certificate has no usable subjectAltName (a DNS name, a URI or an e-mail address); "
    "its common name is not looked at";

static bool refuse(const struct connection *c, const char *why)
{
    CONN_LOG(warn, "connection refused", c, why);
    return false;
}

/* No tokens, roles or methods of the listener are configured: then peers that need not authenticate
 * may do all. */
static bool nobody_says(const struct connection *c)
{
    const struct listener_rules *rules = c->slot->rules;

    return rules->auth == LISTENER_AUTH_NONE && rules->methods == NULL && c->loop->tokens == NULL &&
           role_table_count(c->loop->roles) == 0;
}

/* NULL without memory. */
static const struct principal *make_anew(const struct connection *c, enum principal_mechanism how,
                                         const char *name)
{
    const struct token_table *tokens = c->loop->tokens;
    const char *methods = c->slot->rules->methods;
    struct principal_options options = {.how = how,
                                        .name = name,
                                        .methods = methods == NULL ? "*" : methods,
                                        .everything = nobody_says(c),
                                        .roles = c->loop->roles};
    char full[NET_NAME_MAX + 16];

    principal_full_name(how, name, full, sizeof full);
    if (c->slot->rules->auth == LISTENER_AUTH_NONE)
        options.tenant = PRINCIPAL_TENANT_OF_ALL;
    else if (how == PRINCIPAL_UNIX && tokens != NULL && token_table_names(tokens, name))
        options.tenant = full; /* the token's is the name */
    return principal_new(&options);
}

/* Held; NULL without memory. */
static const struct principal *make(const struct connection *c, enum principal_mechanism how,
                                    const char *name)
{
    struct shared_principals *shared = &c->loop->principals;
    const struct shared_key key = {
        .how = how, .name = name, .whose = c->slot->rules, .generation = c->loop->generation};
    const struct principal *p = shared_principals_find(shared, &key);

    if (p != NULL)
        return p;
    p = make_anew(c, how, name);
    if (p == NULL || shared_principals_add(shared, &key, p))
        return p;
    principal_unref(p);
    return NULL;
}

static bool become(struct connection *c, enum principal_mechanism how, const char *name)
{
    const struct principal *p = make(c, how, name);

    if (p == NULL)
        return refuse(c, "out of memory");
    conn_set_principal(c, p);
    shared_principals_release(&c->loop->principals, p);
    return true;
}

/* Without a certificate a peer has no principal yet: the listener may accept a token instead. */
static bool admit_by_certificate(struct connection *c)
{
    char name[NET_NAME_MAX];

    if (c->slot->message.named)
        return become(c, PRINCIPAL_CERT, conn_slot_user(c->slot));
    switch (tls_peer_name(&c->stream, name, sizeof name)) {
    case TLS_NAME_FOUND:
        return become(c, PRINCIPAL_CERT, name);
    case TLS_NAME_NO_CERTIFICATE:
        return true;
    case TLS_NAME_UNUSABLE:
        return refuse(c, names_nobody);
    }
    __builtin_unreachable();
}

/* The acceptor has asked for its name. */
static bool admit_by_socket(struct connection *c)
{
    const char *name = conn_slot_user(c->slot);

    if (name == NULL)
        return refuse(c, "the system does not say who the peer is");
    return become(c, PRINCIPAL_UNIX, name);
}

/* The listener needs no authentication: the peer's origin is its identity. */
static bool admit_unasked(struct connection *c)
{
    char name[NET_NAME_MAX];

    if (strncmp(conn_peer(c), "unix", 4) == 0)
        return admit_by_socket(c);
    peer_network(conn_peer(c), name, sizeof name);
    return become(c, PRINCIPAL_ADDRESS, name);
}

bool admit_peer(struct connection *c)
{
    switch (c->slot->rules->auth) {
    case LISTENER_AUTH_CERT:
        return admit_by_certificate(c);
    case LISTENER_AUTH_PEER:
        return admit_by_socket(c);
    case LISTENER_AUTH_NONE:
        return admit_unasked(c);
    case LISTENER_AUTH_TOKEN:
        return true;
    }
    __builtin_unreachable();
}

/* --- Again --- */

/* The principal of the peer now, held; NULL: there is none, or no memory. */
static const struct principal *who_now(const struct connection *c)
{
    const struct principal *was = c->principal, *p;

    if (principal_how(was) != PRINCIPAL_TOKEN)
        return make(c, principal_how(was), principal_plain_name(was));
    p = c->loop->tokens ? token_table_find_hash(c->loop->tokens, principal_token(was)) : NULL;
    return shared_principals_hold(&c->loop->principals, p);
}

/* The token is no more: the peer has the identity that it has without. */
static void forget_token(struct connection *c)
{
    conn_set_principal(c, NULL);
    if (!admit_peer(c))
        conn_close(c, "it may not be served any more");
    else if (c->principal == NULL && !unauthenticated_again(c))
        conn_out_of_memory(c);
}

void admit_again(struct connection *c)
{
    struct shared_principals *shared = &c->loop->principals;
    const struct principal *was = shared_principals_hold(shared, c->principal), *p = who_now(c);
    bool lost =
        p == NULL || !rights_within(principal_rights(was), principal_rights(p), (struct span){0});

    if (lost)
        log_warn(c->loop->lower ? "connection lowered" : "connection closed",
                 LOG_UINT("conn", conn_id(c)), LOG_PEER("peer", conn_peer(c)),
                 LOG_STR("principal", principal_name(was)),
                 LOG_STR("reason",
                         p ? "it may do less than before" : "its token has ended, or was revoked"));
    if (lost && !c->loop->lower) {
        c->shut_out = true;
        conn_end(c, "its rights have ended");
    } else if (p != NULL)
        conn_set_principal(c, p);
    else
        forget_token(c);
    if (lost && conn_open(c) && c->loop->port.lowered != NULL)
        c->loop->port.lowered(c->loop->port.arg, c);
    shared_principals_release(shared, p);
    shared_principals_release(shared, was);
}
