/* TLS to a collector: which name its certificate must have, and why it was refused.
 *
 * Its certificate must come from an authority that is known here, and have the host's name, or its
 * address, as a subjectAltName.
 *
 * Thread: any, one at a time; blocks on files in collector_tls_new() alone. */
#ifndef ERGON_TRACING_COLLECTOR_TLS_H
#define ERGON_TRACING_COLLECTOR_TLS_H

#include <stddef.h>

struct collector_tls;
struct ssl_st;

/* `ca`: a file of authorities, PEM; NULL: those of the system.  `host`: as it is called, without
 * brackets; copied.  NULL with a text: a file that cannot be read or holds no certificate, no
 * memory. */
struct collector_tls *collector_tls_new(const char *ca, const char *host, char *error, size_t size);
/* No stream of it is left, or none will go on; NULL is fine. */
void collector_tls_free(struct collector_tls *t);

/* The next connection's; the caller's.  NULL: no memory. */
struct ssl_st *collector_tls_stream(struct collector_tls *t);

/* What went wrong with the last stream, for people: a certificate that is not trusted, a handshake
 * that began and did not end.  NULL: nothing of these.  Valid until the next stream. */
const char *collector_tls_trouble(const struct collector_tls *t);

#endif
