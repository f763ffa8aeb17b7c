/* The forms in which Ergon names a place to listen at or to connect to.
 *
 *     ergon://127.0.0.1:7466    plain TCP; the port may be left out: 7466
 *     ergons://[::]:7467        TLS; the port may be left out: 7467
 *     unix:///run/ergon.sock    a Unix socket, by absolute path
 *
 * The admin listener speaks HTTP: http:// and https:// stand in place of the first two, and the
 * port may be left out there, too: 7468 (URL_ADMIN).
 *
 * Pure: nothing is resolved, no file is touched.  Any thread. */
#ifndef ERGON_BASE_URL_H
#define ERGON_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum url_scheme { URL_TCP, URL_TLS, URL_UNIX };

/* Who connects leaves it to the resolver what a host is, and needs a port. */
enum url_use { URL_LISTEN, URL_CONNECT, URL_ADMIN };

enum url_host { URL_HOST_NAME, URL_HOST_V4, URL_HOST_V6 };

enum {
    URL_PORT_TCP = 7466,
    URL_PORT_TLS = 7467,
    URL_PORT_ADMIN = 7468,
    URL_HOST_MAX = 253,
    URL_PATH_MAX = 107
};

struct url {
    enum url_scheme scheme;
    bool http;                   /* URL_ADMIN: HTTP is spoken there, over a Unix socket too */
    enum url_host kind;          /* URL_TCP and URL_TLS */
    char host[URL_HOST_MAX + 1]; /* without brackets; empty for URL_UNIX */
    uint16_t port;               /* 0: any free one (URL_LISTEN); URL_TCP and URL_TLS */
    char path[URL_PATH_MAX + 1]; /* URL_UNIX, else empty; fits sockaddr_un */
};

/* NULL and *url filled, or a constant text that says what is wrong and what is expected. */
const char *url_parse(const char *text, enum url_use use, struct url *url);

/* The whole URL, the port always written.  False when `size` is too small; 280 is always enough. */
bool url_text(const struct url *url, char *buf, size_t size);

/* Does it name a PostgreSQL database: postgresql://…, postgres://… or service=NAME? */
bool url_is_postgresql(const char *text);
/* Of one: may rows and passwords go to another machine without that being proven to be the right
 * one, by sslmode=verify-full?  Where a service file says so, that is not known, and not said. */
bool url_is_unproven(const char *text);

/* Can only this machine reach it?  A name counts as local only when it is "localhost". */
bool url_is_local(const struct url *url);

#endif
