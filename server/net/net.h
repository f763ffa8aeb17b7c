/* What the builder needs of the network: loops that hold connections, and one acceptor that feeds
 * them.
 *
 * Set-up and tear-down happen on one thread before the activators run and after they have ended;
 * the functions for a running server say "any thread". */
#ifndef ERGON_NET_NET_H
#define ERGON_NET_NET_H

#include <ergon/activator.h>
#include <ergon/poller.h>

#include "proto/scanner.h"
#include "server/net/connection.h"
#include "server/net/stream/tls.h"

struct net_loop;
struct acceptor;
struct token_table;

struct net_limits {
    struct scan_limits scan;
    uint32_t in_flight;     /* calls of one connection before it stops being read */
    uint64_t output_max;    /* bytes waiting to be written before it stops being read */
    uint64_t partial_total; /* bytes of partial messages, over all connections of one loop: beyond
                               it the largest holder is closed */
    uint32_t connections;   /* in all */
    uint32_t connections_per_address;
    ao_time handshake_timeout; /* TLS; ns */
    ao_time idle_timeout;      /* ns without a byte and without a call in flight; 0: none */
    uint32_t auth_failures;
};

struct net_loop_options {
    uint32_t index;
    struct activator *activator;
    struct poller *poller;           /* a libevent poller */
    const struct net_limits *limits; /* copied */
    struct conn_port port;           /* copied */
};

struct net_loop_stats { /* relaxed: figures, not logic */
    uint64_t connections, accepted, closed, messages, bytes_in, bytes_out, protocol_errors,
        partial_bytes;
};

struct net_loop *net_loop_new(const struct net_loop_options *options); /* NULL and errno */
void net_loop_free(struct net_loop *l); /* closes what it still holds */
void net_loop_stats(const struct net_loop *l, struct net_loop_stats *out); /* any thread */

/* One listener and its rules.  Strings are borrowed during acceptor_listen() only. */
enum listener_auth {
    LISTENER_AUTH_NONE,
    LISTENER_AUTH_TOKEN, /* server.auth before anything else (but ping and hello) */
    LISTENER_AUTH_PEER,  /* Unix socket: the user name of the peer's uid is the principal */
    LISTENER_AUTH_CERT   /* the client certificate's subject CN is the principal */
};

struct listener_options {
    const char *url; /* ergon://host:port, ergons://host:port, unix:///path */
    enum listener_auth auth;
    const char *methods; /* what principals by certificate or credentials, or anybody under
                            AUTH_NONE, may call; "*" */
    struct tls_files tls;
    uint32_t connections; /* of this listener; 0: no limit of its own */
    ao_time idle_timeout; /* ns; 0: that of the limits; AO_NEVER: none */
    uint32_t unix_mode;   /* permission bits of the socket file */
    bool raw;             /* answers for clients of 2013 by default */
};

/* The acceptor lives on one loop's activator and gives each connection to the loop with the fewest.
 */
struct acceptor *acceptor_new(struct net_loop **loops, uint32_t count,
                              const struct net_limits *limits);
/* Binds and listens.  0, or -1 with a text for people in `error`.  The URL with the real port is
 * acceptor_url(a, i). */
int acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                    size_t size);
uint32_t acceptor_count(const struct acceptor *a);
const char *acceptor_url(const struct acceptor *a, uint32_t i);
void acceptor_free(
    struct acceptor *a); /* closes the listeners; unlinks Unix sockets that it made */

/* --- A running server: any thread; each takes effect on every loop soon --- */
/* Stop accepting; every connection stops reading, finishes what is in flight, writes it and closes.
 * `drained(arg)` is called once, on some loop's thread, when no connection is left. */
void net_drain(struct acceptor *a, void (*drained)(void *arg), void *arg);
/* Close every connection now. */
void net_abort(struct acceptor *a);
/* Change the token table (a reference is taken) and read certificates again.  0, or -1 with a text:
 * then nothing changes. */
int net_reload(struct acceptor *a, struct token_table *tokens, char *error, size_t size);

#endif
