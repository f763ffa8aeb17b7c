/* What the admin thread works on, for the files of this folder: listeners of HTTP, sessions, and
 * what is under way.
 *
 * Thread: the admin thread, but for `acceptor`. */
#ifndef ERGON_ADMIN_WEB_H
#define ERGON_ADMIN_WEB_H

#include <stdatomic.h>

#include "base/list.h"
#include "server/admin/connections.h"
#include "server/admin/gateway.h"
#include "server/admin/session.h"
#include "server/metrics/text.h"
#include "server/net/accept/listen_socket.h"

struct evhttp;
struct evhttp_request;
struct evconnlistener;
struct event;
struct health;
struct live;
struct metrics;
struct web;

enum {
    WEB_HEADERS_MAX = 16 << 10, /* bytes of the head of a request */
    WEB_BODY_MAX = 1 << 20,     /* bytes of its body */
    WEB_LIVES_MAX = 32,         /* streams of events */
    WEB_LIVES_A_PRINCIPAL = 16, /* whatever sessions it has: there is room for others */
    WEB_LIVES_A_SESSION = 4,
    WEB_CALLS_A_SESSION = 32 /* under way */
};

struct web_listener {
    struct web *web;
    struct url url; /* with the real port */
    struct listen_socket socket;
    struct evhttp *http;
    struct evconnlistener *accepts; /* http's */
    struct tls_context *tls;        /* NULL: plain */
    struct tls_files files;         /* of which it was made, and a reload makes the next */
    /* What a reload brought, to be used from the next connection on; the thread that takes it out
     * owns it.
     * Exchanged: release by the main thread, acquire by the admin thread. */
    _Atomic(struct tls_context *) tls_next;
    enum listener_auth auth;
    uint32_t index; /* of its listener inside the acceptor */
};

struct web {
    struct event_base *base;
    struct tls_loop *tls; /* of all listeners with TLS; NULL: there is none */
    struct web_listener *listeners;
    uint32_t count;
    char **hosts;
    size_t host_count;
    uint32_t call_ms; /* of one call */
    const struct health *health;
    _Atomic(struct acceptor *) acceptor; /* set once, release, by the main thread; NULL: starting */
    struct metrics *metrics;             /* owned; set before `acceptor`, NULL until then */
    struct metrics_text figures;         /* what it wrote last */
    struct gateway gateway;              /* its acceptor is set before the first use */
    struct http_connections connections;
    struct sessions sessions;
    LIST_HEAD(, live) lives;
    uint32_t live_count;
    uint64_t live_last; /* the number of the last that began */
};

/* Serves requests of this listener from now on: its socket listens.  False without memory. */
bool web_serve(struct web_listener *l);
/* After each round of the loop: lets go of what has ended, and accepts again where it can. */
void web_sweep(struct web *w);
/* Each second while something is there: ends what takes too long, and feeds the streams.  False:
 * nothing is there. */
bool web_tick(struct web *w);
/* Ends all sessions and streams, and what they had under way is answered; then all connections. */
void web_close(struct web *w);

#endif
