/* Principals: who a peer is and what it may call.  Immutable, shared by all loops, counted. */
#ifndef ERGON_NET_PRINCIPAL_H
#define ERGON_NET_PRINCIPAL_H

#include "base/span.h"

struct principal;

const char *principal_name(const struct principal *p);
/* True if one of its method patterns ("*", "server.*", "echo") fits.  Pure. */
bool principal_may(const struct principal *p, struct span method);
const struct principal *principal_ref(const struct principal *p); /* any thread */
void principal_unref(const struct principal *p);                  /* any thread; NULL is fine */
/* A principal that is not in the token file (certificate, socket credentials).  `methods`:
 * comma-separated patterns. NULL without memory. */
const struct principal *principal_new(const char *name, const char *methods);

/* The token file: lines "sha256:<64 hex digits> principal method[,method...]", '#' comments.  A
 * table is immutable; SIGHUP loads a new one and the loops change over. */
struct token_table;
/* NULL, with a text "file:line: what is wrong" of at most `size` bytes in `error`. */
struct token_table *token_table_load(const char *path, char *error, size_t size);
struct token_table *token_table_ref(struct token_table *t); /* any thread */
void token_table_unref(struct token_table *t);              /* any thread; NULL is fine */
/* Compares in constant time.  NULL when no line fits; else borrowed from the table. */
const struct principal *token_table_find(const struct token_table *t, struct span token);

#endif
