/* A connection from inside: for server/net/conn*.c and loops, which list them. */
#ifndef ERGON_NET_CONN_PRIVATE_H
#define ERGON_NET_CONN_PRIVATE_H

#include "server/net/connection/net_loop.h"

/* States of a connection.  X(NAME, "what is true; who leaves it") */
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
    MESSAGES_A_STEP = 256, /* one connection hands over in a step */
    RESERVE_MESSAGES = 16, /* handed over beyond the limit of calls in flight */
    RESERVE_BYTES = 4096,  /* read at once while at that limit */
    WRITES_A_ROUND = 8,    /* system calls of one connection in a flush */
    PARTS_A_WRITE = 64,    /* iovecs of one system call */
    DISCARDS_A_STEP = 4,   /* reads of a lingering connection */
    WIDE_MESSAGES = 16,    /* fewer of them in a whole read are large ones */
    FLUSH_SOON = 32768     /* bytes; so many answers are written before they leave the caches */
};

#define FLUSH_TIME  AO_S(5) /* a closed connection whose peer does not read */
#define LINGER_TIME AO_S(2) /* a closed connection whose peer goes on sending */

struct connection {
    struct ao ao;

    struct net_loop *loop;
    struct partial_input *partial; /* NULL when nothing is kept */
    struct chunk_chain out;
    uint32_t in_flight; /* calls that count */
    uint32_t polls;     /* calls that do not */
    uint8_t state;      /* enum conn_state */
    uint8_t ready;      /* bits of enum stream_ready: known to hold */
    uint8_t reserve;    /* messages handed over since in_flight reached its limit */
    uint8_t failures;   /* of authentication */
    struct conn_mode mode;
    bool stopped : 1;       /* input waits for calls in flight or for output */
    bool drain : 1;         /* hand over what is kept, then DRAINING */
    bool peer_eof : 1;      /* the peer's FIN was read */
    bool gone_due : 1;      /* the port has to be told that nobody reads answers any more */
    bool gone_told : 1;     /* and was */
    bool dirty : 1;         /* stands in the loop's dirty list */
    bool dead : 1;          /* stands in the loop's list of the dead */
    bool partial_whole : 1; /* it may start with a whole message */
    bool wide : 1;          /* a whole read brought few messages: read more at once */
    bool single : 1;        /* the last read brought one message: its peer waits for each answer */

    ao_time since; /* last byte in OPEN and DRAINING; else the time of entry */
    struct connection *next_dirty;
    struct connection *prev, *next; /* all of the loop */
    void *user;
    const struct principal *principal; /* a reference, or NULL */
    struct conn_slot *slot;
    struct stream stream;
};

/* A new connection in HANDSHAKE, active.  The stream is opened by the caller at
 * conn_stream(c), before conn_start().  NULL without memory: the slot is still the caller's. */
struct connection *conn_new(struct net_loop *l, struct conn_slot *slot);
void conn_start(struct connection *c);
void conn_free(struct connection *c); /* CLOSED; not within its step */

/* The one door for changes of state: checks, traces, does the entry work.  `why` is constant. */
void conn_enter(struct connection *c, enum conn_state next, const char *why);
void conn_kick(struct connection *c); /* it has something to do */
void conn_drain(struct connection *c);
void conn_abort(struct connection *c, const char *why); /* CLOSED, whatever it is in */
void conn_drop(struct connection *c); /* the loop ends: closes and frees it, whatever it is in */
bool conn_watch(struct connection *c, unsigned what);

static inline bool conn_open(const struct connection *c)
{
    return c->state == CONN_OPEN;
}

static inline bool conn_answerable(const struct connection *c)
{
    return c->state == CONN_OPEN || c->state == CONN_DRAINING;
}

/* conn_time.c */
ao_time conn_time_limit(const struct connection *c); /* ns in this state; 0: none */
void conn_check_time(struct connection *c);          /* may enter CLOSED */

/* conn_input.c */
enum input_end {
    INPUT_REST,    /* nothing to do before the stream is readable */
    INPUT_MORE,    /* a budget was used up: go on in the next round */
    INPUT_STOPPED, /* a limit was reached: go on when it allows */
    INPUT_EOF,     /* the peer sends nothing more, and all that it sent was handed over */
    INPUT_LEFT     /* the connection has left OPEN */
};
enum input_end input_run(struct connection *c);
/* Only what is kept already; for a connection that is to drain. */
enum input_end input_run_partial(struct connection *c);
bool input_allowed(const struct connection *c);
void input_drop(struct connection *c);
void input_discard(struct connection *c); /* for LINGERING */

/* conn_output.c */
void output_wanted(struct connection *c); /* output_flush() at this round's end */
void output_flush(struct connection *c);  /* writes what it can; may enter CLOSED */
static inline uint64_t output_bytes(const struct connection *c)
{
    return c->out.bytes + c->stream.backlog;
}

static inline bool output_pending(const struct connection *c)
{
    return output_bytes(c) != 0;
}

#endif
