/* TLS, by OpenSSL: the one place where its SSL objects are known.
 *
 * Each loop has a library context of its own, so that loops do not meet in OpenSSL's locks, and
 * scratch buffers of its own, so that an idle stream holds none. */
#ifndef ERGON_NET_TLS_H
#define ERGON_NET_TLS_H

#include <ergon/activator.h>

#include "server/net/net.h"
#include "server/net/stream/stream.h"

struct tls_loop;
struct tls_context; /* certificate and rules of one listener, for one loop; counted */

/* Keys of session tickets are those of `first`, the loop that was made first (NULL: new ones).
 * Set-up. NULL without memory. */
struct tls_loop *tls_loop_new(struct activator *activator, const struct tls_loop *first);
void tls_loop_free(struct tls_loop *l); /* NULL is fine */

/* Reads the files.  NULL with a text in `error`.  Any thread. */
struct tls_context *tls_context_new(struct tls_loop *l, const struct tls_files *files, char *error,
                                    size_t size);
void tls_context_unref(struct tls_context *context); /* any thread; NULL is fine */

/* A server's stream over `fd`, which it takes over.  False without memory: then the fd is still the
 * caller's.  Loop's thread. */
bool tls_open(struct stream *s, struct tls_loop *l, struct tls_context *context, int fd,
              struct event_base *base);

enum tls_name { TLS_NAME_FOUND, TLS_NAME_NO_CERTIFICATE, TLS_NAME_UNUSABLE };
/* The common name of the peer's verified certificate, after the handshake; a plain stream has none.
 */
enum tls_name tls_peer_name(const struct stream *s, char *buf, size_t size);

#endif
