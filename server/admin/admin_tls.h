/* Certificates of the admin listener.
 *
 * Set-up, and the admin thread. */
#ifndef ERGON_ADMIN_ADMIN_TLS_H
#define ERGON_ADMIN_ADMIN_TLS_H

#include <stddef.h>

struct ssl_ctx_st;
struct ssl_st;
struct tls_files; /* server/net/stream/tls.h */

/* NULL with a text: a file cannot be read, or does not fit the other.  Reads files. */
struct ssl_ctx_st *admin_tls_new(const struct tls_files *files, char *error, size_t size);
void admin_tls_free(struct ssl_ctx_st *context); /* NULL is fine */
struct ssl_st *
admin_tls_accept(struct ssl_ctx_st *context); /* for one connection; NULL: no memory */

#endif
