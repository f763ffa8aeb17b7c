/* Who a peer is before it has said a word: by certificate, or by the credentials of its socket. */
#include <stdio.h>

#include "server/net/auth/peer.h"
#include "server/net/auth/principal.h"
#include "server/net/connection/conn_private.h"

enum { NAME_MAX_BYTES = 256 };

static bool refuse(const struct connection *c, const char *why)
{
    CONN_LOG(warn, "connection refused", c, why);
    return false;
}

static bool become(struct connection *c, const char *name)
{
    const struct principal *p = principal_new(name, c->slot->rules->methods);

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
        return become(c, name);
    case TLS_NAME_NO_CERTIFICATE:
        return true;
    case TLS_NAME_UNUSABLE:
        return refuse(c, "the client certificate has no usable common name");
    }
    __builtin_unreachable();
}

static bool admit_by_socket(struct connection *c)
{
    char name[NAME_MAX_BYTES];
    uint32_t uid;

    if (!peer_uid(c->stream.fd, &uid))
        return refuse(c, "the system does not say who the peer is");
    peer_user_name(uid, name, sizeof name);
    return become(c, name);
}

bool admit_peer(struct connection *c)
{
    switch (c->slot->rules->auth) {
    case LISTENER_AUTH_CERT:
        return admit_by_certificate(c);
    case LISTENER_AUTH_PEER:
        return admit_by_socket(c);
    case LISTENER_AUTH_NONE:
    case LISTENER_AUTH_TOKEN:
        return true;
    }
    __builtin_unreachable();
}
