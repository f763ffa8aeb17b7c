/* The connections of HTTP, and what bounds them: their number, and the time that one may take
 * until its next request is whole.
 *
 * evhttp (libevent 2.1) tells nobody when it drops a connection.  So each bufferevent that it is
 * given keeps a reference here; of one that evhttp has freed the callbacks are gone, and the sweep
 * after each round of the loop lets go of it, which closes the socket.
 *
 * When all places are taken the connection that has been idle longest gives way; when none is idle
 * nobody is accepted until one ends.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_CONNECTIONS_H
#define ERGON_ADMIN_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <ergon/ao.h>

struct bufferevent;

enum {
    HTTP_CONNECTIONS = 128,     /* from there on the idle ones give way */
    HTTP_CONNECTIONS_MORE = 16, /* beyond, that are accepted before those have gone */
    HTTP_CONNECTIONS_MOST = HTTP_CONNECTIONS + HTTP_CONNECTIONS_MORE
};
#define HTTP_REQUEST_TIME AO_S(30) /* from the accept, or the last answer, to a whole request */

struct http_connection {
    struct bufferevent *bev; /* a reference; NULL: free */
    ao_time since;           /* the last answer, or the accept */
    bool busy;               /* a request is being answered */
};

struct http_connections {
    struct http_connection at[HTTP_CONNECTIONS_MOST];
    uint32_t count;
};

/* Counts one more.  False: there is no room at all. */
bool connections_add(struct http_connections *c, struct bufferevent *bev, ao_time now);
/* A request on it is whole, or was answered. */
void connections_busy(struct http_connections *c, const struct bufferevent *bev, bool busy,
                      ao_time now);
/* After each round: lets go of those that evhttp has dropped. */
void connections_sweep(struct http_connections *c);
/* Now and then: hangs up on those that take too long. */
void connections_tick(struct http_connections *c, ao_time now);
bool connections_full(const struct http_connections *c); /* nobody is to be accepted */

#endif
