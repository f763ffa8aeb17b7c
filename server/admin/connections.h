/* The connections of HTTP, and what bounds them: their number, the time that one may take until its
 * next request is whole, and then until it has read the answer, and the bytes that wait to become
 * requests.
 *
 * evhttp (libevent 2.1) tells nobody when it drops a connection.  So each bufferevent that it is
 * given keeps a reference here; of one that evhttp has freed the callbacks are gone, and the sweep
 * after each round of the loop lets go of it, which closes the socket.
 *
 * When all places are taken the connection that has been idle longest gives way.  When none is idle
 * nobody is accepted until one ends; the one that has been answered for longest, if that is long,
 * is made to, so that clients that read slowly keep nobody else away.
 *
 * Thread: the admin thread. */
#ifndef ERGON_ADMIN_CONNECTIONS_H
#define ERGON_ADMIN_CONNECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <ergon/ao.h>

#include "server/admin/framing.h"

struct bufferevent;

enum {
    HTTP_CONNECTIONS = 128,     /* from there on the idle ones give way */
    HTTP_CONNECTIONS_MORE = 16, /* beyond, that are accepted before those have gone */
    HTTP_CONNECTIONS_MOST = HTTP_CONNECTIONS + HTTP_CONNECTIONS_MORE
};
#define HTTP_ANSWER_LEAST AO_S(10) /* of answer_time, while others wait for a place */
/* Bytes of requests that are not whole.  Of one: more than head and body may have together, since
 * evhttp looks for the end of a line, where a chunk tells its length, however long that line gets.
 * (A watermark would not do: at it libevent 2.1 calls evhttp again and again.) */
#define HTTP_INPUT_MAX (UINT32_C(16) << 20)
#define HTTP_INPUT_ONE (UINT32_C(2) << 20)

/* What one is at. */
enum http_phase {
    HTTP_READS,   /* its next request is not whole */
    HTTP_ANSWERS, /* its request is under way, or the answer has not been read */
    HTTP_STREAMS  /* its answer has no end; the handler bounds it */
};

struct http_connection {
    struct bufferevent *bev; /* a reference; NULL: free */
    const void *listener;    /* that accepted it */
    ao_time since;           /* of this phase */
    enum http_phase phase;
    struct head_check head; /* of its next request, or of that which is answered */
};

struct http_connections {
    struct http_connection at[HTTP_CONNECTIONS_MOST];
    uint32_t count;
    ao_time request_time; /* from the accept, or the last answer, to a whole request */
    ao_time answer_time;  /* from there until the answer has been read */
};

/* Counts one more, whose place is the stream's as long as it lives.  NULL: there is no room at all.
 */
const struct http_connection *connections_add(struct http_connections *c, struct bufferevent *bev,
                                              const void *listener, ao_time now);
/* It is at something else from now on. */
void connections_enter(struct http_connections *c, const struct bufferevent *bev,
                       enum http_phase phase, ao_time now);
/* NULL, or what is in doubt about the head of its request, for people. */
const char *connections_doubt(const struct http_connections *c, const struct bufferevent *bev);
/* After each round: lets go of those that evhttp has dropped, and hangs up on one that has more
 * bytes than HTTP_INPUT_ONE, or the most where all have more than HTTP_INPUT_MAX. */
void connections_sweep(struct http_connections *c);
/* Each second: hangs up on those that take too long. */
void connections_tick(struct http_connections *c, ao_time now);
/* Hangs up on those of this listener of which `ends` says so. */
void connections_end(struct http_connections *c, const void *listener,
                     bool (*ends)(struct bufferevent *bev, void *arg), void *arg);
bool connections_full(const struct http_connections *c); /* nobody is to be accepted */

#endif
