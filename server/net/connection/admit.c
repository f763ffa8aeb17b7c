/* Who a peer is before it has said a word: by certificate, by the credentials of its socket, or,
 * where nobody is asked, by its address. */
#include <stdio.h>

#include "server/net/auth/peer.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"

enum { NAME_MAX_BYTES = 256 };

static const char names_nobody[] =
    "the client certificate has no usable subjectAltName (a DNS name, a URI or an e-mail address); "
    "its common name is not looked at";

static bool refuse(const struct connection *c, const char *why)
{
    CONN_LOG(warn, "connection refused", c, why);
    return false;
}

static bool become(struct connection *c, enum principal_mechanism how, const char *name,
                   const char *tenant)
{
    const struct principal *p = principal_new(how, name, tenant, c->slot->rules->methods);

    if (p == NULL)
        return refuse(c, "out of memory");
    conn_set_principal(c, p);
    principal_unref(p);
    return true;
}

/* Without a certificate a peer is nobody yet: the listener may accept a token instead. */
static bool admit_by_certificate(struct connection *c)
{
    char name[NAME_MAX_BYTES];

    switch (tls_peer_name(&c->stream, name, sizeof name)) {
    case TLS_NAME_FOUND:
        return become(c, PRINCIPAL_CERT, name, NULL);
    case TLS_NAME_NO_CERTIFICATE:
        return true;
    case TLS_NAME_UNUSABLE:
        return refuse(c, names_nobody);
    }
    __builtin_unreachable();
}

static bool user_of(const struct connection *c, char *name, size_t size)
{
    uint32_t uid;

    if (!peer_uid(c->stream.fd, &uid))
        return refuse(c, "the system does not say who the peer is");
    peer_user_name(uid, name, size);
    return true;
}

/* A user and a token of one name are two, and so are their tenants: the token's is the name. */
static bool admit_by_socket(struct connection *c)
{
    const struct token_table *tokens = conn_tokens(c);
    char name[NAME_MAX_BYTES], tenant[NAME_MAX_BYTES + 16];

    if (!user_of(c, name, sizeof name))
        return false;
    if (tokens == NULL || !token_table_names(tokens, name))
        return become(c, PRINCIPAL_UNIX, name, NULL);
    principal_full_name(PRINCIPAL_UNIX, name, tenant, sizeof tenant);
    return become(c, PRINCIPAL_UNIX, name, tenant);
}

/* Nobody is asked: the peer is where it comes from. */
static bool admit_unasked(struct connection *c)
{
    char name[NAME_MAX_BYTES];

    if (strncmp(conn_peer(c), "unix", 4) == 0)
        return user_of(c, name, sizeof name) &&
               become(c, PRINCIPAL_UNIX, name, PRINCIPAL_TENANT_OF_ALL);
    peer_network(conn_peer(c), name, sizeof name);
    return become(c, PRINCIPAL_ADDRESS, name, NULL);
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
