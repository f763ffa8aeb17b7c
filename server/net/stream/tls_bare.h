/* Certificates and rules of a listener whose connections are no streams of ours: OpenSSL's objects
 * go to a caller that reads and writes by itself (the admin listener, by libevent).  Contexts are
 * those of tls.h, of a loop without an activator, so a peer is believed by the same rules, and has
 * the same name.
 *
 * Thread: any, but one at a time for what belongs to one `ssl`. */
#ifndef ERGON_NET_TLS_BARE_H
#define ERGON_NET_TLS_BARE_H

#include "server/net/stream/tls.h"

struct ssl_st;

/* For one connection.  The caller's; NULL without memory. */
struct ssl_st *tls_bare_new(struct tls_context *context);
/* As tls_peer_name(), before and after the handshake. */
enum tls_name tls_bare_name(const struct ssl_st *ssl, char *buf, size_t size);
/* Do both accept the same certificates? */
bool tls_same_trust(const struct tls_context *one, const struct tls_context *other);

/* What a peer has shown, kept beyond its connection. */
struct tls_shown;
/* NULL: it has shown no certificate, or there is no memory; its handshake is not done. */
struct tls_shown *tls_shown_of(const struct ssl_st *ssl);
void tls_shown_free(struct tls_shown *shown); /* NULL is fine */
/* Verifies it once more, by a context that was read later, as tls_trusts() does.  NULL: it is
 * believed; else why not, a constant text. */
const char *tls_shown_distrusted(const struct tls_shown *shown, struct tls_context *context);
/* The same of a connection.  It is believed if it shows none, but not within its handshake, which
 * goes on under what was before. */
const char *tls_bare_distrusted(const struct ssl_st *ssl, struct tls_context *context);

#endif
