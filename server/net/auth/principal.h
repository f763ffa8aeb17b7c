/* Principals: the identity of a peer, and its rights.
 *
 * Principals are immutable and counted: any thread may use what it holds a reference to, and take
 * or drop references.  The last one frees. */
#ifndef ERGON_NET_PRINCIPAL_H
#define ERGON_NET_PRINCIPAL_H

#include "server/access/rights.h"
#include "server/net/auth/crypto.h"

struct principal;

/* The mechanism that authenticated a principal.  It is part of the name, so that a token `alice`, a
 * certificate `alice` and a user `alice` are three principals. */
enum principal_mechanism {
    PRINCIPAL_TOKEN,    /* "token:alice": as the token file names it */
    PRINCIPAL_CERT,     /* "cert:alice.example": a subjectAltName */
    PRINCIPAL_UNIX,     /* "unix:alice": the user at the other end of the socket */
    PRINCIPAL_ADDRESS,  /* "address:192.0.2.7", "address:2001:db8::/64": it was not asked */
    PRINCIPAL_DATABASE, /* "database:shop": a role of the store's database */
    PRINCIPAL_MODULE    /* "module:thumbs/2": a process of a module */
};

enum { PRINCIPAL_NAME_MAX = 4096 /* bytes of a name without its mechanism; longer ones are cut */ };

/* The tenant of all peers that were not asked to authenticate. */
#define PRINCIPAL_TENANT_OF_ALL "anybody"

struct principal_options {
    enum principal_mechanism how;
    const char *name; /* without its mechanism */
    /* The tenant of its tasks, if no role says otherwise.  NULL gives the default: for a token, a
     * user or a role of the database, the name without its mechanism; for a certificate, the whole
     * name; for an address, PRINCIPAL_TENANT_OF_ALL. */
    const char *tenant;
    /* Comma-separated patterns of what it may call: of a token beside what its roles say, of others
     * if they have no role. */
    const char *methods;
    bool offers;              /* besides: any method as a worker (struct rights_options) */
    bool everything;          /* in place of `methods`: no rights are configured at all */
    struct role_table *roles; /* NULL: there are none */
    const uint8_t *token;     /* PRINCIPAL_TOKEN: the hash of its token, SHA256_SIZE bytes */
    uint64_t expires;         /* Unix ns; 0: never */
};

/* All of the options is copied.  NULL without memory. */
const struct principal *principal_new(const struct principal_options *options);
const struct principal *principal_ref(const struct principal *p); /* returns p */
void principal_unref(const struct principal *p);                  /* NULL is fine */
/* With its mechanism, "token:alice".  It is the same for all that are the same one, whatever
 * connection they come by, so accounts and turns go by it.  Lasts as long as the principal. */
const char *principal_name(const struct principal *p);
/* The tenant of its tasks, unless it names another; as the name. */
const char *principal_tenant(const struct principal *p);
const char *principal_plain_name(const struct principal *p); /* without its mechanism */
enum principal_mechanism principal_how(const struct principal *p);
const uint8_t *principal_token(const struct principal *p);        /* PRINCIPAL_TOKEN: the hash */
uint64_t principal_expires(const struct principal *p);            /* Unix ns; 0: never */
const struct rights *principal_rights(const struct principal *p); /* lasts as long as it */
/* May it call the method, or has it the right over others of this name?  Pure. */
bool principal_may(const struct principal *p, struct span method);

/* The name with its mechanism, as principal_name() would be; cut at `size`. */
void principal_full_name(enum principal_mechanism how, const char *name, char *buf, size_t size);
/* Does the text begin as a name with a mechanism does? */
bool principal_is_full_name(const char *text);

#endif
