/* Where a server listens: ergon://host[:port], ergons://host[:port], unix:///path.  Pure. */
#ifndef ERGON_CLIENT_URL_H
#define ERGON_CLIENT_URL_H

#include <stdbool.h>
#include <stddef.h>

enum { URL_HOST_MAX = 254, URL_PORT_MAX = 6, URL_PATH_MAX = 108 }; /* bytes with the final zero */

enum url_kind { URL_TCP, URL_TLS, URL_UNIX };

struct url {
    enum url_kind kind;
    char host[URL_HOST_MAX]; /* without brackets; TCP and TLS */
    char port[URL_PORT_MAX]; /* decimal, 1 to 65535; TCP and TLS */
    char path[URL_PATH_MAX]; /* absolute; UNIX */
};

/* NULL and *out set, or what is wrong: a constant text. */
const char *url_parse(const char *text, struct url *out);

#endif
