/* Principals: who a peer is and what it may call; and the tokens that say so.
 *
 * Principals and token tables are immutable and counted: any thread may use what it holds a
 * reference to, and take or drop references.  The last one frees. */
#ifndef ERGON_NET_PRINCIPAL_H
#define ERGON_NET_PRINCIPAL_H

#include "base/span.h"

struct principal;

/* For one that is not in the token file.  `methods`: comma-separated patterns; both are copied.
 * NULL without memory. */
const struct principal *principal_new(const char *name, const char *methods);
const struct principal *principal_ref(const struct principal *p); /* returns p */
void principal_unref(const struct principal *p);                  /* NULL is fine */
const char *principal_name(const struct principal *p);
/* True if one of its patterns ("*", "server.*", "echo") fits.  Pure. */
bool principal_may(const struct principal *p, struct span method);

/* The token file: lines "sha256:<64 hex digits> principal method[,method...]", '#' comments.  A
 * SIGHUP loads a new table, and the loops change over. */
struct token_table;

/* NULL with a text "file:line: what is wrong" in `error`: the file cannot be read, a line is not as
 * above, no memory.  The text never quotes a line, which may hold a token by mistake. */
struct token_table *token_table_load(const char *path, char *error, size_t size);
struct token_table *token_table_ref(struct token_table *t); /* returns t */
void token_table_unref(struct token_table *t);              /* NULL is fine */
/* Who has this token; borrowed from the table.  Takes the same time whichever line fits.  NULL:
 * nobody, or OpenSSL fails for want of memory. */
const struct principal *token_table_find(const struct token_table *t, struct span token);

#endif
