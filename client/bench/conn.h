/* One connection of a load, which never blocks: its opening, its slots, and its bytes on the way
 * out.  It has a fixed number of slots, and a slot one request in flight.  Belongs to the thread of
 * its generator. */
#ifndef ERGON_BENCH_CONN_H
#define ERGON_BENCH_CONN_H

#include "client/bench/protocol.h"
#include "client/lib/buffer.h"
#include "client/lib/dial.h"
#include "client/lib/stream.h"
#include "client/lib/tls.h"

#include <ergon/client.h>

enum { NO_SLOT = UINT32_MAX };

/* Slots that wait to be written, and behind them those that are free, are a chain in the order in
 * which they are used: so those of an ordered protocol are used, and end, in turn. */
struct slot {
    uint64_t since_ns; /* when its request was to be sent; 0: free */
    uint32_t next;     /* in the chain; valid unless its request is on its way */
    uint32_t call;     /* which of a mix; valid while its request is on its way */
};

enum conn_state {
    CONN_CLOSED,
    CONN_DIALING,   /* the socket is connecting; no stream yet */
    CONN_HANDSHAKE, /* of TLS */
    CONN_GREETING,  /* the protocol's beginning is not over */
    CONN_OPEN
};

struct conn {
    enum conn_state state;
    int fd;               /* from DIALING on; the stream's from HANDSHAKE on */
    uint32_t watched;     /* epoll events that its generator asked for; 0: none */
    uint32_t index;       /* among those of its generator */
    struct dial dial;     /* where in the target's list of addresses it is */
    struct stream stream; /* open while ops is set */
    struct buffer part;   /* the start of a message whose rest has not come */
    struct buffer rest;   /* what the socket did not take */
    struct scanner scanner;
    size_t skip;         /* bytes of a known message that are still to come */
    bool ends;           /* that message ends the request in slot `ending` */
    uint32_t ending;     /* valid while `ends` */
    uint64_t opened_ns;  /* when its opening began */
    struct slot *slots;  /* the generator's; slot_count of them */
    uint32_t slot_count; /* above 0 */
    uint32_t unsent;     /* head of the chain: the first that waits to be written, or as `free` */
    uint32_t free;       /* the first free one in the chain; NO_SLOT: none */
    uint32_t last;       /* of the chain; valid while there is one */
    uint32_t oldest;     /* of an ordered protocol: the slot of the request that ends next */
    uint32_t in_flight;  /* requests that wait to be written, or for their answers */
    bool retiring;       /* gets no more requests; closed when its last answer has come */
    bool queued;         /* stands in the generator's queue of those that have a free slot */
    bool dirty;          /* stands in the generator's list of those to be written to */
};

/* Where connections go; outlives them. */
struct conn_target {
    const struct protocol *protocol;
    const void *work;
    struct span payload;     /* for the protocol's beginning */
    const struct dial *dial; /* started; its list is shared by the connections */
    struct tls *tls;         /* NULL for plain */
    const char *server_name; /* for TLS */
    struct outgoing *out;    /* empty between two calls */
};

enum conn_need {
    CONN_READY, /* it is open */
    CONN_NEEDS_READ,
    CONN_NEEDS_WRITE,
    CONN_UNREACHABLE, /* it is closed; `why` says why */
    CONN_DENIED       /* it is closed: the server refused the credentials; `why` */
};

void conn_init(struct conn *c, uint32_t index, struct slot *slots, uint32_t count);

/* Starts a closed one, whose slots are all free; it must not move afterwards.  c->fd is new. */
enum conn_need conn_open(struct conn *c, const struct conn_target *t, char *why, size_t why_size);

/* When what it needed has come.  c->fd may be another one afterwards, which nobody watches: then
 * c->watched is 0. */
enum conn_need conn_go_on(struct conn *c, const struct conn_target *t, char *why, size_t why_size);
void conn_close(struct conn *c); /* idempotent */

/* ---- slots ---- */

/* Takes the first free slot, of which there must be one, for a request that was to be sent then. It
 * waits to be written: conn_next_unsent() gives it in its turn. */
void conn_take_slot(struct conn *c, uint64_t since_ns);
void conn_free_slot(struct conn *c, uint32_t slot);

/* False: none waits to be written. */
bool conn_next_unsent(struct conn *c, uint32_t *slot);

/* ---- bytes, of an open one ---- */

/* Writes what is gathered, and clears that; what the socket does not take is kept in c->rest, and
 * so is all while something stands there.  *done: bytes written.  STREAM_OK: all; STREAM_WANT_READ
 * or STREAM_WANT_WRITE: what is kept goes on with conn_resume() when the socket is ready for
 * that; STREAM_EOF, STREAM_BROKEN: it is of no further use, as conn_reason() says. */
enum stream_verdict conn_write(struct conn *c, struct outgoing *out, size_t *done);
enum stream_verdict conn_resume(struct conn *c, size_t *done);

const char *conn_reason(const struct conn *c, enum stream_verdict v);

#endif
