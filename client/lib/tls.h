/* TLS for a stream.  The only file of the client that knows OpenSSL.  Settings and their streams
 * belong to one thread. */
#ifndef ERGON_CLIENT_TLS_H
#define ERGON_CLIENT_TLS_H

#include "client/lib/stream.h"

struct tls; /* settings and certificates; outlives the streams that are made of it */

struct tls_files {
    const char *ca;   /* PEM; NULL: the system's authorities */
    const char *cert; /* PEM with chain; NULL: none */
    const char *key;  /* PEM; NULL: in cert */
    bool insecure;    /* do not look at the server's certificate */
};

/* The caller frees.  NULL, and `why` names the file: one of them cannot be read, is not PEM, or
 * does not fit the others; or there is no memory. */
struct tls *tls_new(const struct tls_files *files, char *why, size_t why_size);
void tls_free(struct tls *t); /* NULL is allowed; streams must be closed */

/* From here on each new stream offers the session of the last ticket that the server sent, for a
 * shorter handshake.  The server must be the same for all streams of `t`. */
void tls_keep_session(struct tls *t);

/* Takes `fd` over.  False: out of memory, and `fd` is still the caller's.  `name` is what the
 * certificate must name, a host name or an address; borrowed until the stream is closed. */
bool tls_open_stream(struct tls *t, struct stream *s, int fd, const char *name);

/* After the handshake of a stream of tls_open_stream(): whether it went on with an older session.
 */
bool tls_resumed(const struct stream *s);

/* Of a stream of tls_open_stream(): whether bytes that the socket gave are still to be read. */
bool tls_pending(const struct stream *s);

#endif
