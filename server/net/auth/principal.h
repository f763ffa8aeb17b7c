/* Principals: who a peer is and what it may call; and the tokens that say so.
 *
 * Principals and token tables are immutable and counted: any thread may use what it holds a
 * reference to, and take or drop references.  The last one frees. */
#ifndef ERGON_NET_PRINCIPAL_H
#define ERGON_NET_PRINCIPAL_H

#include "base/span.h"

struct principal;

/* How somebody said who it is.  It is part of the name, so that a token `alice`, a certificate
 * `alice` and a user `alice` are three. */
enum principal_mechanism {
    PRINCIPAL_TOKEN,  /* "token:alice": as the token file names it */
    PRINCIPAL_CERT,   /* "cert:alice.example": a subjectAltName */
    PRINCIPAL_UNIX,   /* "unix:alice": the user at the other end of the socket */
    PRINCIPAL_ADDRESS /* "address:192.0.2.7", "address:2001:db8::/64": it was not asked */
};

enum { PRINCIPAL_NAME_MAX = 4096 /* bytes of a name without its mechanism; longer ones are cut */ };

/* To whom the tasks of all belong that were not asked who they are. */
#define PRINCIPAL_TENANT_OF_ALL "anybody"

/* For one that is not in the token file.  `methods`: comma-separated patterns.  `tenant`: to whom
 * its tasks belong; NULL: of a token or a user the name without its mechanism, of a certificate the
 * whole name, of an address PRINCIPAL_TENANT_OF_ALL.  All are copied.  NULL without memory. */
const struct principal *principal_new(enum principal_mechanism how, const char *name,
                                      const char *tenant, const char *methods);
const struct principal *principal_ref(const struct principal *p); /* returns p */
void principal_unref(const struct principal *p);                  /* NULL is fine */
/* With its mechanism, "token:alice".  It is the same for all that are the same one, whatever
 * connection they come by, so accounts and turns go by it.  Lasts as long as the principal. */
const char *principal_name(const struct principal *p);
/* To whom its tasks belong, unless it says otherwise; as the name. */
const char *principal_tenant(const struct principal *p);
/* True if one of its patterns ("*", "server.*", "echo") fits.  Pure. */
bool principal_may(const struct principal *p, struct span method);

/* The name with its mechanism, as principal_name() would be; cut at `size`. */
void principal_full_name(enum principal_mechanism how, const char *name, char *buf, size_t size);
/* Does the text begin as a name with a mechanism does? */
bool principal_is_full_name(const char *text);

/* The token file: lines "sha256:<64 hex digits> principal method[,method...]", '#' comments.  A
 * SIGHUP loads a new table, and the loops change over. */
struct token_table;

/* NULL with a text "file:line: what is wrong" in `error`: the file cannot be read, a line is not as
 * above, no memory.  The text never quotes a line, which may hold a token by mistake. */
struct token_table *token_table_load(const char *path, char *error, size_t size);
struct token_table *token_table_ref(struct token_table *t); /* returns t */
void token_table_unref(struct token_table *t);              /* NULL is fine */
/* Is there a token of this name (without mechanism)? */
bool token_table_names(const struct token_table *t, const char *name);
/* Who has this token; borrowed from the table.  Takes the same time whichever line fits.  NULL:
 * nobody, or OpenSSL fails for want of memory. */
const struct principal *token_table_find(const struct token_table *t, struct span token);

#endif
