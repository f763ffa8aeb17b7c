/* The identity of a connection's peer, and its rights: before its first message, by certificate, by
 * the credentials of its socket, or, where the listener asks for no authentication, by its address;
 * and again whenever tokens, roles or certificates change. */
#include "server/net/connection/admit.h"

#include <stdio.h>

#include "base/clock.h"
#include "server/net/auth/peer.h"
#include "server/net/auth/principal.h"
#include "server/net/auth/token.h"
#include "server/net/connection/conn_output.h"
#include "server/net/connection/oversight.h"
#include "server/net/connection/unauthenticated.h"
#include "server/net/connection_rights.h"
#include "server/net/stream/tls.h"

/* --- What its port asks, and sets --- */

#define LOOK_AT_WALL_CLOCK AO_S(60)

const struct token_table *conn_tokens(const struct connection *c)
{
    return c->loop->tokens;
}

struct role_table *conn_roles(const struct connection *c)
{
    return c->loop->roles;
}

const struct principal *conn_principal(const struct connection *c)
{
    return c->principal;
}

bool conn_may(const struct connection *c, struct span method)
{
    const char *here = c->slot->rules->methods;

    return principal_may(c->principal, method) && (here == NULL || patterns_fit(here, method));
}

uint64_t conn_rights(const struct connection *c)
{
    return rights_id(principal_rights(c->principal)) << 8 | c->slot->rules->index;
}

const char *conn_allow(const struct connection *c)
{
    return c->slot->rules->methods;
}

bool conn_unlimited(const struct connection *c)
{
    return c->unlimited;
}

bool conn_was_shut_out(const struct connection *c)
{
    return c->shut_out;
}

/* Far ahead the wall clock may be set meanwhile, so it is looked at again now and then. */
static void note_end(struct connection *c)
{
    uint64_t now = clock_wall(), end = principal_expires(c->principal);
    uint64_t left = end > now ? end - now : 0;

    c->mortal = end > 0;
    c->expires =
        activator_now(c->loop->activator) + (left < LOOK_AT_WALL_CLOCK ? left : LOOK_AT_WALL_CLOCK);
}

static void note_rights(struct connection *c)
{
    const char *here = c->slot->rules->methods;

    c->unlimited = c->mortal = false;
    if (c->principal == NULL)
        return;
    c->unlimited = rights_all_methods(principal_rights(c->principal)) &&
                   (here == NULL || strcmp(here, "*") == 0);
    note_end(c);
}

void conn_set_principal(struct connection *c, const struct principal *p)
{
    const struct principal *old = c->principal;

    c->principal = shared_principals_hold(&c->loop->principals, p);
    shared_principals_release(&c->loop->principals, old);
    note_rights(c);
    if (c->state != CONN_OPEN || !conn_open_tally(c))
        return;
    if (p)
        unauthenticated_remove(c);
}

bool conn_auth_failed(struct connection *c)
{
    uint32_t limit = c->loop->limits.auth_failures;
    struct conn_cold *cold = cold_begin(c, COLD_FAILURES);

    if (cold == NULL) {
        conn_out_of_memory(c);
        return false;
    }
    cold->failures++;
    conn_slot_offend(c->slot, OFFENCE_TOKEN);
    log_warn("authentication failed", LOG_UINT("conn", conn_id(c)), LOG_PEER("peer", conn_peer(c)),
             LOG_UINT("failures", cold->failures));
    if (limit == 0 || cold->failures < limit)
        return true;
    conn_close(c, "too many failed authentications");
    return false;
}

/* --- Before its first message --- */

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

/* The kernel says that the peer is root or the server's own user. */
static bool is_own(const struct connection *c)
{
    return c->slot->rules->auth == LISTENER_AUTH_PEER && peer_key_is_own(c->slot->key);
}

static bool is_process(const struct connection *c)
{
    return c->slot->rules->auth == LISTENER_AUTH_MODULE;
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
                                        .offers = methods == NULL && (is_own(c) || is_process(c)),
                                        .everything = nobody_says(c),
                                        .roles =
                                            c->slot->rules->without_roles ? NULL : c->loop->roles};
    char full[NET_NAME_MAX + 16];

    principal_full_name(how, name, full, sizeof full);
    if (c->slot->rules->auth == LISTENER_AUTH_NONE)
        options.tenant = PRINCIPAL_TENANT_OF_ALL;
    else if ((how == PRINCIPAL_UNIX || how == PRINCIPAL_DATABASE) && tokens != NULL &&
             token_table_names(tokens, name))
        options.tenant = full; /* the token's is the name */
    return principal_new(&options);
}

/* Held; NULL without memory. */
static const struct principal *make(const struct connection *c, enum principal_mechanism how,
                                    const char *name)
{
    struct shared_principals *shared = &c->loop->principals;
    const struct shared_key key = {.how = how,
                                   .name = name,
                                   .whose = c->slot->rules,
                                   .generation = c->loop->generation,
                                   .own = is_own(c)};
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
        return refuse(c, "the system gives no name for the user of the peer");
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

bool conn_is_of_node(const struct connection *c, char *name, size_t size)
{
    if (c->slot->rules->auth != LISTENER_AUTH_NODE)
        return false;
    if (tls_peer_name(&c->stream, name, size) != TLS_NAME_FOUND)
        name[0] = '\0';
    return true;
}

bool conn_is_of_database(const struct connection *c)
{
    return c->slot->rules->auth == LISTENER_AUTH_DATABASE;
}

int32_t conn_module_process(const struct connection *c)
{
    const char *number = is_process(c) ? strrchr(conn_slot_user(c->slot), '/') : NULL;

    return number ? (int32_t)strtol(number + 1, NULL, 10) : -1;
}

/* Its first message names the client that the node speaks for. */
static bool admit_node(const struct connection *c)
{
    char name[NET_NAME_MAX];

    if (c->slot->rules->contexts == NULL)
        return peer_key_is_own(c->slot->key) ||
               refuse(c, "a node of the cluster runs as the same user as this server, which is not "
                         "65534 (nobody)");
    return tls_peer_name(&c->stream, name, sizeof name) == TLS_NAME_FOUND ||
           refuse(c, names_nobody);
}

bool admit_peer(struct connection *c)
{
    switch (c->slot->rules->auth) {
    case LISTENER_AUTH_NODE:
        return admit_node(c);
    case LISTENER_AUTH_CERT:
        return admit_by_certificate(c);
    case LISTENER_AUTH_DATABASE:
        return become(c, PRINCIPAL_DATABASE, conn_slot_user(c->slot));
    case LISTENER_AUTH_MODULE:
        return become(c, PRINCIPAL_MODULE, conn_slot_user(c->slot));
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

static const struct principal *vouched_now(struct connection *c)
{
    const struct conn_port *port = &c->loop->port;
    const struct principal *p = port->vouched ? port->vouched(port->arg, c) : NULL;
    const struct principal *held = shared_principals_hold(&c->loop->principals, p);

    principal_unref(p);
    return held;
}

/* The principal of the peer now, held; NULL: there is none, or no memory. */
static const struct principal *who_now(struct connection *c)
{
    const struct principal *was = c->principal, *p;

    if (c->slot->rules->auth == LISTENER_AUTH_NODE)
        return vouched_now(c);
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
    const struct span all = {0};
    bool lost = p == NULL || !rights_within(principal_rights(was), principal_rights(p), all, all);

    if (lost)
        log_warn(c->loop->lower ? "connection lowered" : "connection closed",
                 LOG_UINT("conn", conn_id(c)), LOG_PEER("peer", conn_peer(c)),
                 LOG_STR("principal", principal_name(was)),
                 LOG_STR("reason",
                         p ? "it may do less than before" : "its token has ended, or was revoked"));
    if (lost && (!c->loop->lower || (p == NULL && conn_vouched(c) != NULL))) {
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

/* --- After a reload --- */

/* In the units of a walk, of a few hundred nanoseconds each: signatures cost the most. */
enum { COST_OF_LOOK = 1, COST_OF_RENEWAL = 16, COST_OF_CLOSE = 64, COST_OF_VERIFYING = 256 };

static enum tls_trusted look_at_certificate(struct connection *c, const char **why)
{
    struct tls_context **contexts = c->slot->rules->contexts;

    return contexts == NULL ? TLS_TRUST_STANDS
                            : tls_trusts(&c->stream, contexts[c->loop->index], why);
}

/* Returns what it has cost. */
static uint32_t renew(struct connection *c)
{
    bool answerable = conn_answerable(c);
    const char *why;

    c->generation = c->loop->generation;
    enum tls_trusted trusted = look_at_certificate(c, &why);
    if (trusted == TLS_TRUST_LOST)
        conn_kill(c, why);
    else if (c->principal != NULL && answerable)
        admit_again(c);
    return trusted != TLS_TRUST_STANDS        ? COST_OF_VERIFYING
           : conn_answerable(c) == answerable ? COST_OF_RENEWAL
                                              : COST_OF_CLOSE;
}

void renewal_of(struct connection *c)
{
    renew(c);
}

static uint32_t visit(struct conn_walk *w, struct connection *c)
{
    (void)w;
    return renewal_due(c) ? renew(c) : COST_OF_LOOK;
}

static void walk(struct net_loop *l);

/* A reload that came meanwhile has not reached those that were passed before. */
static void ended(struct conn_walk *w)
{
    struct net_loop *l = ao_of(w, struct net_loop, renewal);

    l->renewing = false;
    if (l->walked != l->generation)
        walk(l);
}

/* It is a part of its loop. */
static void dropped(struct conn_walk *w)
{
    (void)w;
}

static void walk(struct net_loop *l)
{
    l->renewing = true;
    l->walked = l->generation;
    l->self = l;
    l->renewal = (struct conn_walk){.loops = &l->self,
                                    .loop_count = 1,
                                    .closes = true,
                                    .visit = visit,
                                    .end = ended,
                                    .drop = dropped};
    conn_walk_start(&l->renewal);
}

void renewal_start(struct net_loop *l)
{
    l->generation++;
    if (!l->renewing)
        walk(l);
}
