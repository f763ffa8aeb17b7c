/* Sockets that listen: made from a URL.  Set-up only; one thread. */
#ifndef ERGON_NET_LISTENER_H
#define ERGON_NET_LISTENER_H

#include "base/url.h"

/* Binds and listens, non-blocking.  Returns the fd, and *url with the real port; or -1 with a text
 * for people in `error`.  A Unix socket that nobody listens at any more is replaced. */
int listener_open(struct url *url, uint32_t unix_mode, char *error, size_t size);

#endif
