/* TLS 1.3 of a client over a socket; the server's certificate is not looked at. */
#ifndef ERGON_PEERS_TLS_H
#define ERGON_PEERS_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct ssl_ctx_st; /* OpenSSL's */
struct ssl_session_st;
struct ssl_st;

/* With `tickets`, that what comes is kept until tls_take_ticket().  NULL without memory. */
struct ssl_ctx_st *tls_context_new(bool tickets);
void tls_context_free(struct ssl_ctx_st *context);

/* The fd stays the caller's. `ticket` is resumed from unless it is NULL.  NULL without memory. */
struct ssl_st *tls_new(struct ssl_ctx_st *context, int fd, struct ssl_session_st *ticket);
void tls_free(struct ssl_st *tls); /* NULL is fine */

enum tls_step { TLS_DONE, TLS_AGAIN, TLS_FAILED };
/* Goes on with the handshake. After TLS_FAILED, tls_why() may say more than errno. */
enum tls_step tls_handshake(struct ssl_st *tls);
const char *tls_why(void);

/* As recv() and send(): -1 with errno, EAGAIN too; 0 of a read: the server sends nothing more. */
ssize_t tls_read(struct ssl_st *tls, void *to, size_t size);
ssize_t tls_write(struct ssl_st *tls, const void *from, size_t size);
bool tls_has_more(const struct ssl_st *tls); /* a read gives something, even if the fd is silent */

bool tls_was_resumed(const struct ssl_st *tls);
void tls_close_notify(struct ssl_st *tls);

/* The last ticket of the context's connections, then the caller's; NULL: none came. */
struct ssl_session_st *tls_take_ticket(struct ssl_ctx_st *context);
void tls_ticket_free(struct ssl_session_st *ticket); /* NULL is fine */

#endif
