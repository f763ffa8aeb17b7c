/* The network of one loop, from inside: for the files of server/net/ only. */
#ifndef ERGON_NET_NET_LOOP_H
#define ERGON_NET_NET_LOOP_H

#include <stdatomic.h>

#include "server/net/connection/chunk.h"
#include "server/net/connection/partial_input.h"
#include "server/net/net.h"
#include "server/net/stream/stream.h"
#include "server/net/connection/loop_message.h"
#include "base/counter.h"

struct tls_loop; /* server/net/stream/tls.h */

enum {
    HANDSHAKES_A_ROUND = 8,    /* of one loop: a handshake costs as much as thousands of messages */
    LOOP_MESSAGES_A_STEP = 64, /* connections and orders that a loop takes in a step */
    READ_SIZE = 65536,         /* bytes of one read */
    READ_WIDE = 262144,        /* bytes of one read from a peer that sends large messages */
    HEADROOM = 4096            /* bytes before the read buffer: a short rest is put there */
};

/* Written by the loop, read by anybody: each stands alone, so relaxed order is enough. */
struct loop_counters {
    _Atomic uint64_t connections, accepted, closed, messages, bytes_in, bytes_out, protocol_errors,
        partial_bytes;
};

struct net_loop {
    struct activator *activator;
    struct event_base *base; /* NULL in tests with scripted streams only */
    struct conn_port port;
    struct net_limits limits;
    uint32_t index;
    bool draining; /* no connection is opened any more */
    bool closing;  /* net_loop_free() runs */

    struct round_hook hook;                      /* armed while anything stands in these: */
    struct connection *dirty_first, *dirty_last; /* have committed output */
    struct connection *dead;                     /* to be freed; linked by next_dirty */
    uint32_t handshakes;                         /* of this round */

    struct connection *first; /* all whose memory exists */
    struct chunk_pool pool;
    struct partial_list partials;
    struct scanner scanner; /* of what stands in `scratch` */
    uint8_t *scratch;       /* HEADROOM + READ_WIDE bytes; what is not used takes no memory */

    struct ao intake;   /* takes messages of the acceptor */
    struct lane *inlet; /* acceptor -> here; the acceptor's; NULL before acceptor_new() */
    struct lane *home;  /* here -> acceptor; the acceptor's */

    struct tls_loop *tls; /* NULL until a listener with TLS stands */
    struct token_table *tokens;
    struct loop_counters counters;
};

/* The hook at the end of this round is wanted. */
void loop_arm(struct net_loop *l);
/* Frees the connection at the end of this round. */
void loop_free_later(struct net_loop *l, struct connection *c);
/* Closes and frees all connections; when no loop runs any more. */
void loop_drop_connections(struct net_loop *l);
/* The connection is freed: its slot goes home. */
void loop_return_slot(struct net_loop *l, struct conn_slot *slot);
/* Takes the slots and orders out of a lane and drops them; when no loop runs any more. */
void loop_messages_drop(struct lane *lane);

/* control.c: an order came, which is freed where it is the loop's. */
void loop_handle(struct net_loop *l, struct loop_message *order);

#endif
