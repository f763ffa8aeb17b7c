/* A connection from inside, for the files of this room: its structure, and the functions of each
 * file for the files above it.  From the bottom up: chunk.c and partial_input.c keep bytes,
 * conn_cold.c what few need;
 * holdings.c, serving.c, conn_state.c, conn_output.c, conn_input.c and admit.c; connection.c, which
 * steps it; net_loop.c.
 *
 * Thread: all of it runs on the loop that owns the connection.  Nothing here returns an error but
 * where it says so; what goes wrong ends in a change of state, by conn_enter(). */
#ifndef ERGON_NET_CONN_PRIVATE_H
#define ERGON_NET_CONN_PRIVATE_H

#include "base/log.h"
#include "server/net/connection/conn_cold.h"
#include "server/net/connection/net_loop.h"
#include "server/net/connection_rights.h"

/* States of a connection.  X(NAME, "what is true; what ends it") */
#define CONN_STATES(X)                                                                             \
    X(HANDSHAKE, "nothing decoded; the handshake's end, or its time limit")                        \
    X(OPEN, "reading and writing; calls may be in flight; peer's FIN, conn_close(), a drain")      \
    X(DRAINING, "no more reads; answers are still written; the last one written")                  \
    X(FLUSHING, "no more answers; what was committed is still written; all written, or a limit")   \
    X(LINGERING, "all written, our side shut; input is thrown away; peer's FIN, or a limit")       \
    X(CLOSED, "socket gone; only calls in flight keep the memory; the last one's end")

enum conn_state {
#define X(name, text) CONN_##name,
    CONN_STATES(X)
#undef X
};

enum {
    HANDSHAKES_A_ROUND = 8, /* of one loop: a handshake costs as much as thousands of messages */
    MESSAGES_A_STEP = 256,  /* one connection hands over in a step */
    RESERVE_MESSAGES = 16   /* handed over beyond the limit of calls in flight */
};

/* A server has many that are idle, so tests/unit/net/idle_size_test.c holds its size: what few need
 * is in the cold part. */
struct connection {
    struct ao ao;

    struct net_loop *loop;
    struct partial_input *partial; /* input that is kept; NULL: none */
    struct conn_cold *cold;        /* conn_cold.h; NULL: none */
    struct chunk_chain out;
    uint32_t in_flight;  /* calls that count */
    uint32_t polls;      /* calls that do not */
    uint16_t turn;       /* of its tally, in which it was read last; wraps */
    uint16_t generation; /* of its loop, by which its rights were found: admit.h; wraps */
    struct conn_mode mode;
    uint8_t state;          /* enum conn_state */
    uint8_t ready;          /* bits of enum stream_ready: known to hold */
    uint8_t reserve;        /* messages handed over since in_flight reached its limit */
    bool limited : 1;       /* conn_time_limit(): it may not stay as it is for ever */
    bool stopped : 1;       /* OPEN: input waits for calls in flight or for output */
    bool drain : 1;         /* OPEN: hand over what is kept, then DRAINING */
    bool peer_eof : 1;      /* DRAINING, FLUSHING: the peer's FIN was read */
    bool left : 1;          /* OPEN: the peer has left, and what it has sent is still read */
    bool gone_due : 1;      /* the port must be informed that no answers are read any more */
    bool gone_reported : 1; /* and it was, or never knew the connection */
    bool dirty : 1;         /* is in the loop's queue of output to write */
    bool dead : 1;          /* is in the loop's queue of connections to free */
    bool partial_whole : 1; /* what is kept may start with a whole message */
    bool wide : 1;          /* a whole read brought few, cheap messages: read more at once */
    bool borrows : 1;       /* its output has bytes that go with its step: output_keep() */
    bool gathers : 1;       /* `wide`: messages come whole in one read, so read several */
    bool single : 1;        /* the last read brought one message: its peer waits for each answer */
    bool unauthenticated : 1; /* in the loop's list of those: unauthenticated.h */
    bool shakes : 1;          /* is in the loop's list of handshakes: unauthenticated.h */
    bool killed : 1;          /* conn_kill() */
    bool waits : 1;           /* OPEN: for room in its account, by cold->room */
    bool heavy : 1;           /* OPEN: it holds as much as it may itself */
    bool held : 1;            /* OPEN: it is not read, since it `waits` or is `heavy` */
    bool put_back : 1;        /* the message that is handed over waits for room */
    bool retries : 1;         /* a message that was put back is first in what is kept */
    bool unlimited : 1;       /* conn_unlimited() */
    bool mortal : 1;          /* its principal ends, at `expires` */
    bool shut_out : 1;        /* it was closed since its rights had ended */
    bool awaits_input : 1;    /* OPEN: what it would read finds no room; it looks again soon */
    bool unread : 1;          /* OPEN: pushed events wait to be read, since cold->unread_since */
    bool serves : 1;          /* OPEN: conn_serve() */
    bool looks : 1;           /* it serves, and looks at cold->look_at whether its peer answers */
    bool in_parts : 1;        /* conn_begin_parts() */

    ao_time accepted;  /* when it came */
    uint64_t messages; /* handed over, in all */
    ao_time expires;   /* of the activators' clock */
    ao_time since;     /* OPEN, DRAINING: the last byte, or call's end; else: the time of entry */
    STAILQ_ENTRY(connection) queued; /* in the queue that `dirty` or `dead` tells */
    LIST_ENTRY(connection) link;     /* all of the loop */
    uint64_t charged;                /* bytes that its tally knows of */
    uint64_t outside, in_tasks;      /* by conn_hold(), in `charged` too; by conn_hold_task() */
    void *user;
    const struct principal *principal; /* shared_principals.h; NULL: none yet */
    struct tally *tally;               /* a reference; NULL before it is open */
    struct conn_slot *slot;            /* owned; goes home when the connection is freed */
    struct stream stream;
};

static inline bool conn_open(const struct connection *c)
{
    return c->state == CONN_OPEN;
}

/* Its listener requires an identity of the peer. */
static inline bool conn_asks_who(const struct connection *c)
{
    return c->slot->rules->auth != LISTENER_AUTH_NONE &&
           c->slot->rules->auth != LISTENER_AUTH_NODE; /* its certificate was enough */
}

/* An answer would still be written. */
static inline bool conn_answerable(const struct connection *c)
{
    return c->state == CONN_OPEN || c->state == CONN_DRAINING;
}

/* Bytes that wait to be written. */
static inline uint64_t output_bytes(const struct connection *c)
{
    return c->out.bytes + c->stream.backlog;
}

/* No limit stops input; of one that serves, none does. */
static inline bool conn_may_read(const struct connection *c)
{
    const struct net_limits *limits = &c->loop->limits;

    return c->serves || (!c->held && output_bytes(c) < limits->output_max &&
                         (c->in_flight < limits->in_flight || c->reserve < RESERVE_MESSAGES));
}

/* Of one that is stopped, or serves: the end of a call, or output that has gone, is news for it. */
static inline bool conn_goes_on(const struct connection *c)
{
    return c->serves ? c->drain : conn_may_read(c);
}

/* It has something to do: it is stepped. */
static inline void conn_kick(struct connection *c)
{
    if (c->loop->closing)
        return;
    if (ao_state(&c->ao) == AO_STATE_SLEEPING)
        ao_wake(&c->ao);
    else
        ao_activate(&c->ao);
}

#define CONN_LOG(level, event, c, why)                                                             \
    log_##level((event), LOG_UINT("conn", conn_id(c)), LOG_PEER("peer", conn_peer(c)),             \
                LOG_STR("reason", (why)))

/* --- conn_state.c --- */

/* It is there, or goes (-1): in the counts by state and by kind of listener. */
void conn_count(const struct connection *c, int n);

/* The one function that changes the state: checks, traces, does the entry work.  `why` is constant,
 * here and below. */
void conn_enter(struct connection *c, enum conn_state next, const char *why);
void conn_abort(struct connection *c, const char *why); /* CLOSED, whatever state it is in */
/* Of its state, ns from `since`; 0: none.  Code that changes what it depends on sets `limited`. */
ao_time conn_time_limit(const struct connection *c);
/* Logged, and CLOSED at once: behind an answer that is missing or cut off, nothing may follow. */
void conn_out_of_memory(struct connection *c);
/* Opens the tally of its present principal, in place of the one before.  False without memory: it
 * is CLOSED then. */
bool conn_open_tally(struct connection *c);
/* Which events of its stream step the connection.  False without memory: it is CLOSED then. */
bool conn_watch(struct connection *c, unsigned what);

/* --- connection.c --- */

/* A new connection in HANDSHAKE, which owns the slot.  The caller opens c->stream, with
 * the loop's watcher, and then calls conn_start().  NULL without memory:
 * the slot is still the caller's. */
struct connection *conn_new(struct net_loop *l, struct conn_slot *slot);
void conn_start(struct connection *c);
void conn_on_event(struct poller_watch *w, unsigned what);
void conn_drain(struct connection *c); /* answers what has come, then closes */
void conn_free(struct connection *c);  /* CLOSED; not within its step */
/* The loop ends: closes and frees it, whatever state it is in. */
void conn_drop(struct connection *c);

#endif
