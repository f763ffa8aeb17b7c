/* Tokens: the file that assigns tokens to principals. */
#ifndef ERGON_NET_TOKEN_H
#define ERGON_NET_TOKEN_H

#include "server/net/auth/principal.h"

/* The token file: lines "sha256:<64 hex digits> principal method[,method...]
 * [expires=<RFC 3339>]", '#' comments.  A SIGHUP loads a new table, and the loops change over.
 *
 * Tables are immutable and counted, as principals are: any thread may use one. */
struct token_table;

/* `roles` (NULL: none): what tokens may beside what their lines say.  NULL with a text "file:line:
 * what is wrong" in `error`: the file cannot be read, a line is not as above, no memory.  The text
 * never quotes a line, which may hold a token by mistake. */
struct token_table *token_table_load(const char *path, struct role_table *roles, char *error,
                                     size_t size);
struct token_table *token_table_ref(struct token_table *t); /* returns t */
void token_table_unref(struct token_table *t);              /* NULL is fine */
/* Calls `tell` for each token that one of the tables has and the other has not (NULL: an empty
 * one), or that has other rights or another end: by the principal's name, with "added", "removed"
 * or "changed". */
void token_table_compare(const struct token_table *before, const struct token_table *after,
                         void (*tell)(void *arg, const char *principal, const char *how),
                         void *arg);
/* The same for the token of this hash, SHA256_SIZE bytes. */
const struct principal *token_table_find_hash(const struct token_table *t, const uint8_t *hash);
/* The first line with a pattern that seems to fit task.any and does not name it, which grants
 * nothing; 0: there is none. */
unsigned token_table_vain_line(const struct token_table *t);
/* When the first of them ends, as Unix seconds; INT64_MAX: none does. */
int64_t token_table_first_end(const struct token_table *t);
/* Is there a token of this name (without mechanism)? */
bool token_table_names(const struct token_table *t, const char *name);
/* The principal of this token; borrowed from the table.  The search takes the same time whichever
 * line fits.  NULL: no principal has it, or OpenSSL fails for want of memory. */
const struct principal *token_table_find(const struct token_table *t, struct span token);

#endif
