/* One connection of a load run, which never blocks.  It has a fixed number of slots, and a slot one
 * request in flight; the slot's index is the message id. */
#ifndef ERGON_BENCH_PEER_H
#define ERGON_BENCH_PEER_H

#include "client/lib/buffer.h"
#include "client/lib/dial.h"
#include "client/lib/stream.h"
#include "client/lib/tls.h"
#include "base/url.h"
#include "proto/scanner.h"

enum { PEER_NO_SLOT = UINT32_MAX };

struct peer_slot {
    uint64_t since_ns; /* when its request was to be sent; 0: free */
    uint32_t next;     /* the next free one; valid while it is free */
};

enum peer_state {
    PEER_CLOSED,
    PEER_CONNECTING, /* the socket is; no stream yet */
    PEER_SHAKING,
    PEER_SHOWING_TOKEN,
    PEER_OPEN
};

struct peer {
    enum peer_state state;
    int fd;               /* from PEER_CONNECTING on; the stream's from PEER_SHAKING on */
    uint32_t watched;     /* epoll events that the load asked for; 0: none */
    struct dial dial;     /* where in the target's list of addresses it is */
    struct stream stream; /* open while ops is set */
    struct buffer in;     /* the start of a message whose rest has not come */
    struct buffer out;    /* what the socket did not take */
    struct scanner scanner;
    uint64_t opened_ns;      /* when its opening began */
    struct peer_slot *slots; /* in the load's block */
    uint32_t free_slot;      /* first of the free ones; PEER_NO_SLOT: none */
    uint32_t in_flight;
    bool retiring; /* gets no more requests; closed when its last answer has come */
    bool queued;   /* stands in the load's queue of peers that have a free slot */
    bool dirty;    /* stands in the load's list of peers to be written to */
};

struct peer_target {
    const struct dial *dial; /* started; outlives the peers, and its list is shared by them */
    struct tls *tls;         /* NULL for plain */
    const char *server_name; /* for TLS */
    const char *token;       /* NULL: none */
};

enum peer_need {
    PEER_READY, /* it is open */
    PEER_NEEDS_READ,
    PEER_NEEDS_WRITE,
    PEER_UNREACHABLE, /* it is closed; `why` says why */
    PEER_DENIED       /* it is closed: the server refused the token */
};

/* Starts a closed peer, whose slots are all free; it must not move afterwards.  p->fd is new. */
enum peer_need peer_open(struct peer *p, const struct peer_target *t, char *why, size_t why_size);

/* When what it needed has come.  p->fd may be another one afterwards, which nobody watches: then
 * p->watched is 0. */
enum peer_need peer_go_on(struct peer *p, const struct peer_target *t, char *why, size_t why_size);

void peer_free_slots(struct peer *p, uint32_t count);
void peer_close(struct peer *p); /* idempotent */

#endif
