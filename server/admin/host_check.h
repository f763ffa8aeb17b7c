/* Is a request for us, and from our own page?
 *
 * A page of somebody else may let its name point to our address (DNS rebinding): then the browser
 * sends that name, so only names that are ours are served.  And a browser says from which page a
 * request comes that changes anything: that must be ours, too.
 *
 * Pure; any thread. */
#ifndef ERGON_ADMIN_HOST_CHECK_H
#define ERGON_ADMIN_HOST_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/url.h"

/* `host` is the header, or NULL: "name", "name:port", "[v6]:port".  Ours are: localhost, addresses
 * of loopback, what the listener's URL names, the address `local` that the connection came to (as
 * text, without brackets; NULL: none), and `hosts`.  The port is not looked at, since something may
 * forward it. */
bool host_is_ours(const char *host, const struct url *listener, const char *local,
                  const char *const *hosts, size_t host_count);

/* `origin` is the header, or NULL, which is no browser's: "http://name:port" must be `host`, by
 * http or by https, since something before us may speak TLS. */
bool origin_is_ours(const char *origin, const char *host);

#endif
