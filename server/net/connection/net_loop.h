/* What the connections of one loop share, for the files of server/net/ only.
 *
 * Thread: the loop's, but for the counters, which anybody reads. */
#ifndef ERGON_NET_NET_LOOP_H
#define ERGON_NET_NET_LOOP_H

#include <stdatomic.h>

#include "base/counter.h"
#include "base/list.h"
#include "server/accounts/tally.h"
#include "server/net/connection/chunk.h"
#include "server/net/connection/origins.h"
#include "server/net/connection/loop_message.h"
#include "server/net/connection/partial_input.h"
#include "server/net/connection/shared_principals.h"
#include "server/net/connection/walk.h"
#include "server/net/net.h"
#include "server/net/stream/stream.h"

enum {
    READ_SHORT = 4096,  /* bytes of one read: at the limit of calls in flight, of an unauthenticated
                           connection, or where little may be kept */
    READ_SIZE = 65536,  /* bytes of one read */
    READ_WIDE = 262144, /* bytes of one read from a peer that sends large messages */
    READ_MANY = 17 * READ_SIZE, /* where several come at once: 16 of 64 KiB, and their heads */
    HEADROOM = 4096             /* bytes before the read buffer: a short rest is put there */
};

/* Written by the loop, read by any thread: each is independent, so relaxed order is enough. */
struct loop_counters {
    _Atomic uint64_t connections, accepted, closed, messages, bytes_in, bytes_out, protocol_errors,
        unread, newcomers, gave_way;
    /* Those that are there, by enum conn_state and kind of their listener. */
    counter states[CONN_STATE_COUNT], kinds[LISTENER_KIND_COUNT];
};

STAILQ_HEAD(conn_queue, connection);

/* Connections of which there may be only so many, and of which one gives way to the next. */
struct place {
    TAILQ_ENTRY(place) link;
    struct origin_member of_origin; /* the youngest first */
    struct origin *origin;          /* that it is counted in; NULL: in none, for want of memory */
};
struct places {
    TAILQ_HEAD(place_queue, place) all; /* the oldest is first */
    uint32_t count;
    struct origins origins; /* of their addresses */
};

/* unauthenticated.h has what they are. */
struct unauthenticated_list {
    struct places places;    /* of all of them */
    struct places shaking;   /* of those whose handshake takes memory */
    struct scan_limits scan; /* of their messages */
};

struct net_loop {
    struct activator *activator;
    struct poller_watcher watcher; /* of the connections; no poller with scripted streams only */
    struct conn_port port;
    struct tally_book *tallies; /* borrowed */
    struct net_limits limits;
    uint32_t index;
    bool draining; /* no connection is opened any more */
    bool closing;  /* net_loop_free() runs */
    bool lower;    /* a connection that lost rights keeps the rest, and is not closed */

    struct round_hook hook;  /* armed while any of these has an entry: */
    struct conn_queue dirty; /* have output to write */
    struct conn_queue dead;  /* to be freed */
    uint32_t handshakes;     /* of this round */
    uint32_t abandoned;      /* calls whose connection was reported gone in this round */

    LIST_HEAD(, connection) all; /* whose memory exists; the newest first, so by id */
    struct walks walks;
    struct conn_walk renewal;    /* admit.h */
    struct net_loop *self;       /* the one loop of that walk */
    uint16_t generation, walked; /* of rights; that for which the walk was begun */
    bool renewing;               /* it is under way */
    struct unauthenticated_list unauthenticated;
    struct shared_principals principals;
    struct chunk_pool pool;
    struct partial_list partials;
    struct input_keeper keeper; /* partial_budget.h: another loop asks, */
    struct ao gives_way;        /* and this one closes a connection */
    struct scanner scanner;     /* of the bytes in `scratch` */
    struct scan_notes notes;    /* of the long message that is being handed over; else none */
    const uint8_t *noted;       /* its first byte */
    uint64_t looked;            /* elements of messages that were scanned, in all */
    uint32_t most;              /* messages that the connection hands over in this step */
    uint8_t *scratch;           /* HEADROOM + READ_MANY bytes; unused pages take no memory */

    struct ao intake;                 /* takes messages of the acceptor, and goes on with walks */
    struct message_list *to_acceptor; /* the acceptor's; NULL before acceptor_new() */
    struct message_list from_acceptor;

    /* The watching thread has found that its thread has not finished a round for a while; the
     * acceptor gives it no connection.  Orders nothing (relaxed): one connection more or less does
     * no harm. */
    _Atomic bool away;

    /* Connections that serve, and owe nothing: the drain does not wait for them.  Orders nothing
     * (relaxed): after counting up, the loop posts to the acceptor; after counting down, it returns
     * the slot by a list. */
    _Atomic uint32_t staying;

    struct tls_loop *tls;       /* NULL until there is a listener with TLS */
    struct token_table *tokens; /* a reference; NULL: none */
    struct role_table *roles;   /* likewise */
    struct loop_counters counters;
};

/* The hook at the end of this round is wanted. */
static inline void loop_arm(struct net_loop *l)
{
    activator_at_round_end(l->activator, &l->hook);
}

/* Does what a message says.  A slot is taken over; LOOP_RELOAD goes home, or is freed; LOOP_DRAIN
 * and LOOP_ABORT stay the sender's; LOOP_EVICT is sent back.  Loop's thread. */
void loop_handle(struct net_loop *l, struct loop_message *message);
/* Closes and frees all connections; when no loop runs any more. */
void loop_drop_connections(struct net_loop *l);

#endif
