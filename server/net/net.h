/* What the builder needs of the network: loops that hold connections, and one acceptor that feeds
 * them.  Rooms: accept/ (listeners, limits, control), connection/ (connections and their loop),
 * stream/ (sockets and TLS), auth/ (the identity of a peer).
 *
 * Thread: set-up and tear-down happen on one thread, before the activators run and after they have
 * ended; what a running server may be asked says "any thread". */
#ifndef ERGON_NET_NET_H
#define ERGON_NET_NET_H

#include <sys/socket.h>

#include <ergon/activator.h>
#include <ergon/poller.h>

#include "base/url.h"
#include "proto/scanner.h"
#include "server/accounts/input_budget.h"
#include "server/net/connection.h"
#include "server/net/stream/tls.h"

enum { NET_NAME_MAX = 256 /* bytes of the name of a certificate or a user, with the end */ };

struct net_loop;
struct acceptor;
struct tally_book;
struct role_table; /* server/access/rights.h */
struct token_table;

struct net_limits {
    struct scan_limits scan;
    uint32_t in_flight;        /* calls of one connection before it stops being read */
    uint64_t output_max;       /* bytes waiting to be written before it stops being read */
    uint64_t connection_bytes; /* that one holds before it stops being read; 0: any number */
    /* Of memory of partial messages, over all connections of all loops: there are never more; on
     * the loop that has most of it, the connection that has most is closed, of the principal that
     * has most. */
    struct input_limits partial;
    /* In all: beyond it unauthenticated connections give way, then the address with the most.  0:
     * no limit. */
    uint32_t connections;
    uint32_t connections_per_address; /* 0: no limit; users of Unix sockets have none */
    /* The limit of unauthenticated connections of one loop.  Beyond it the loop closes one, of the
     * address that has the most.  0: there is no such limit. */
    uint32_t newcomers;
    /* Of one loop, TLS handshakes that have begun and are not done: beyond it one of them is closed
     * by the same rule.  0: none of its own. */
    uint32_t handshakes;
    ao_time handshake_timeout; /* TLS; ns */
    ao_time auth_timeout;      /* ns from there until the peer must be authenticated; 0: never */
    ao_time idle_timeout;      /* ns without a byte and without a call in flight; 0: none */
    ao_time unread;            /* ns in which a peer that events are pushed to reads none; 0: any */
    ao_time keepalive; /* ns of silence before a TCP peer is asked if it is there; 0: never */
    /* ns in which the machine of a TCP peer that serves may say nothing, asked or written to,
     * before it counts as lost; 0: as long as the system lets it.  A peer that does not read is not
     * silent: its system says so. */
    ao_time silence;
    uint32_t auth_failures;
    /* ns that a wrong token costs its address, at most 200 s; 0: none, nor anything else. */
    ao_time penalty;
};

struct net_loop_options {
    uint32_t index;
    struct activator *activator;
    struct poller *poller;           /* a poller_libevent; NULL: nothing is watched, in tests */
    const struct net_limits *limits; /* copied */
    struct conn_port port;           /* copied */
    struct tally_book *tallies;      /* of this loop; borrowed: it outlives the loop */
};

/* How a connection came. */
enum listener_kind { LISTENER_TCP, LISTENER_TLS, LISTENER_UNIX, LISTENER_KIND_COUNT };
extern const char *const listener_kind_names[LISTENER_KIND_COUNT]; /* "tcp" */

/* What a connection goes through, from the handshake on. */
enum { CONN_STATE_COUNT = 6 };
extern const char *const conn_state_names[CONN_STATE_COUNT]; /* "HANDSHAKE" */

struct net_loop_stats { /* relaxed: figures, not logic */
    uint64_t connections, accepted, closed, messages, bytes_in, bytes_out, protocol_errors, unread;
    uint64_t newcomers; /* of `connections`: unauthenticated */
    uint64_t gave_way;  /* of `closed`: for another, since a limit of connections was reached */
    /* Whose memory is there; of closed ones calls in flight may keep it. */
    uint64_t by_state[CONN_STATE_COUNT], by_kind[LISTENER_KIND_COUNT];
};

/* The activator and the poller must outlive it.  NULL without memory. */
struct net_loop *net_loop_new(const struct net_loop_options *options);
/* Closes what it still holds; after acceptor_free().  NULL is fine. */
void net_loop_free(struct net_loop *l);
/* Adds its figures to *sum.  Any thread. */
void net_loop_add_stats(const struct net_loop *l, struct net_loop_stats *sum);
/* Its thread does not finish its round, or does again: while it is away it is given no new
 * connection.  Any thread. */
void net_loop_set_away(struct net_loop *l, bool away);

enum listener_auth {
    LISTENER_AUTH_NONE,  /* the peer's address, or user, is the principal */
    LISTENER_AUTH_TOKEN, /* server.auth before anything else (but ping and hello) */
    LISTENER_AUTH_PEER,  /* Unix socket: the user name of the peer's uid is the principal */
    LISTENER_AUTH_CERT,  /* the client certificate's subjectAltName is the principal */
    /* A node of the cluster, by its certificate or, on a Unix socket, as the server's own user: its
     * peer has no principal until the port has named one (conn_vouch()). */
    LISTENER_AUTH_NODE,
    /* Of this process alone, net_adopt(): the role of the database whose submissions it takes over
     * is the principal. */
    LISTENER_AUTH_DATABASE,
    /* Likewise: a process of a module, which this process has started, is the principal; it may
     * offer methods, and conn_module_process() says which one it is. */
    LISTENER_AUTH_MODULE
};

/* Its connections come by net_adopt() alone, which names their principals. */
static inline bool listener_is_inside(enum listener_auth auth)
{
    return auth == LISTENER_AUTH_DATABASE || auth == LISTENER_AUTH_MODULE;
}

/* One listener and its rules. */
struct listener_options {
    const char *url; /* ergon://host:port, ergons://host:port, unix:///path */
    enum listener_auth auth;
    /* Comma-separated patterns of what may be called there, beside what the principal may; a
     * principal with neither a token nor a role may call them all.  NULL: all. */
    const char *methods;
    struct tls_files tls;
    uint32_t connections; /* of this listener; 0: no limit of its own */
    ao_time idle_timeout; /* ns; 0: that of the limits; AO_NEVER: none */
    uint32_t unix_mode;   /* permission bits of the socket file */
    bool raw;             /* answers for clients of 2013 by default */
    bool without_roles;   /* roles grant its peers nothing, and take nothing from them */
    bool penalties;       /* an address of which nothing good comes is kept out for a while */
};

/* The acceptor lives on the first loop's activator and gives each connection to the loop with the
 * fewest, of those that are not away.  `loops` is borrowed during the call, the loops themselves
 * until acceptor_free().  NULL without memory. */
struct acceptor *acceptor_new(struct net_loop **loops, uint32_t count,
                              const struct net_limits *limits);
/* Binds and listens.  Strings are borrowed during the call.  0, or -1 with a text for people in
 * `error`: the URL is wrong, the address cannot be found, bound, or is in use, the socket file
 * cannot be made, the TLS files cannot be used, there are too many listeners, no memory. */
int acceptor_listen(struct acceptor *a, const struct listener_options *options, char *error,
                    size_t size);
/* A listener that accepts nothing itself: connections come to it by net_adopt().  It has the rules
 * of any listener, so its peers must authenticate in the same way.  `auth` NONE: without
 * authentication; TOKEN: by server.auth; PEER, CERT: net_adopt() gives the user, or the name of the
 * certificate.  `way` names it, in logs and figures; of the options tls, unix_mode and url do not
 * count. Returns its index, or -1 with a text: there are too many listeners, no memory, no
 * thread. */
int acceptor_listen_inside(struct acceptor *a, const struct url *way,
                           const struct listener_options *options, char *error, size_t size);
uint32_t acceptor_count(const struct acceptor *a); /* of listeners */
/* Of the i-th listener, with the real port; the acceptor's.  Empty: it is for this process alone.
 */
const char *acceptor_url(const struct acceptor *a, uint32_t i);
/* Closes the listeners and all connections; unlinks Unix sockets that it made.  NULL is fine. */
void acceptor_free(struct acceptor *a);

/* --- One thread beside the activators, while the first loop is away --- */

struct pollfd;
enum { ACCEPTOR_FDS_MAX = 32 };

/* What to poll for until acceptor_stand_in() has something to do: at most ACCEPTOR_FDS_MAX entries.
 * 0: nothing can be accepted now (every loop is away, no descriptor was left, the server drains).
 */
uint32_t acceptor_poll_fds(struct acceptor *a, struct pollfd *fds);
/* Does the acceptor's work once, in place of the first loop: accepts what waits, counts those that
 * closed, does what was asked for below.  When that loop is back and at it, nothing is done: at any
 * time one thread is the acceptor, and none waits for another. */
void acceptor_stand_in(struct acceptor *a);

/* --- A running server: any thread; each takes effect on every loop soon --- */

/* Stops accepting; every connection stops reading, finishes what is in flight, writes it and
 * closes, but for those that serve: these are read on, so that what they were given is answered,
 * and what their peers ask themselves is answered DRAINING.  `drained(arg)` (NULL: nobody asks) is
 * called once, on the thread that does the acceptor's work, when no connection is left but those
 * that serve and have nothing in flight themselves.  A second call does nothing. */
void net_drain(struct acceptor *a, void (*drained)(void *arg), void *arg);
/* The peer of a socket that was not accepted. */
struct net_origin {
    bool is_user; /* of this machine, by a Unix socket: `uid`; else `address` counts */
    uint32_t uid;
    struct sockaddr_storage address;
    /* The name in the certificate, which the accepting side has verified (tls_bare_name()), or of
     * the role, or "MODULE/NUMBER" of a process; "": the peer has shown none. */
    char certificate[NET_NAME_MAX];
};
/* Takes a connected stream socket, non-blocking, as if a listener (that of the index, which
 * acceptor_listen_inside() returned) had accepted it from there: limits, penalties and rights are
 * those of its peer.  The socket is taken over in any case, and closed when it is refused, or the
 * server drains.  0, or -1 without memory. */
int net_adopt(struct acceptor *a, uint32_t listener, int fd, const struct net_origin *from);
/* Closes every connection now. */
void net_abort(struct acceptor *a);
/* The rights of principals, as the files give them. */
struct net_secrets {
    struct token_table *tokens; /* NULL: none */
    struct role_table *roles;   /* NULL: none */
    bool lower; /* a connection that lost rights keeps the rest, and is not closed */
    /* Every loop has taken them over: no message that a connection sends from then on is judged by
     * those of before.  Called once, on the thread that does the acceptor's work; not when the
     * server ends before.  NULL: nobody asks. */
    void (*taken)(void *arg);
    void *arg;
};
/* Replaces the tokens and roles by those of `secrets` (it takes references to them; NULL: no
 * tokens, no roles) and reads the certificates again.  The rights of each open connection are
 * determined again; a connection with fewer rights than before is closed, or keeps only the
 * remaining rights (`lower`), in steps.  Returns 0, or -1 with a text: a certificate's file cannot
 * be used, or there is no memory.  Then nothing changes, and `taken` is not called. */
int net_reload(struct acceptor *a, const struct net_secrets *secrets, char *error, size_t size);

#endif
