/* Opens sockets to a URL, one address after the other.  Non-blocking, but for the resolution of a
 * host name, which is getaddrinfo()'s.  One thread at a time; the sockets are the caller's.  Each
 * `why` is the caller's room for a text. */
#ifndef ERGON_CLIENT_DIAL_H
#define ERGON_CLIENT_DIAL_H

#include "base/url.h"

struct addrinfo;

/* All zero is an unused one. */
struct dial {
    struct addrinfo *list; /* owned; NULL for a Unix socket */
    struct addrinfo *next; /* in `list`: the next to be tried */
    const struct url *url; /* the caller's; outlives this */
    bool path_tried;
};

/* False: the name cannot be resolved, and `why` says so; dial_fini() is a no-op then. */
bool dial_start(struct dial *d, const struct url *url, char *why, size_t why_size);
void dial_fini(struct dial *d); /* idempotent */

/* A non-blocking, close-on-exec socket that is connecting: when it is writable, dial_result() tells
 * how it went.  -1: no address is left; `why` tells what the last one said (and is left alone if
 * there was none). */
int dial_next(struct dial *d, char *why, size_t why_size);

/* True: connected.  False: `why` says what the address said; the caller closes fd, calls
 * dial_next(). */
bool dial_result(int fd, char *why, size_t why_size);

#endif
