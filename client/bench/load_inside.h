/* The inside of a load run.  load.c starts threads and adds their results up; each has a loop
 * (load_loop.c) that opens and replaces connections (load_peers.c), decides when to send
 * (load_send.c), and moves bytes (load_traffic.c).  A struct load belongs to one thread. */
#ifndef ERGON_BENCH_LOAD_INSIDE_H
#define ERGON_BENCH_LOAD_INSIDE_H

#include "client/bench/load.h"
#include "client/bench/peer.h"

enum { LOAD_SCRATCH = 256 * 1024 }; /* bytes of one read */

/* What a thread tells the one that started it; written whole into a pipe. */
struct load_news {
    uint32_t connected; /* since the last news */
    uint64_t answers;   /* since the last news */
    bool opened;        /* all is connected, or failed: it waits for the start */
    bool ended;
};

struct load {
    /* Set by load.c. */
    const struct load_plan *plan;
    uint32_t index;       /* of this thread */
    uint32_t connections; /* of this thread */
    uint64_t requests;    /* this thread's part; 0: no limit */
    int news_fd;          /* for struct load_news */
    int go_fd;            /* gives one uint64_t: when to start, or 0 for never */
    struct load_result result;
    enum ergon_end status; /* of the opening */

    struct tls *tls;  /* owned */
    struct dial dial; /* owned */
    struct peer_target target;
    struct peer *peers;      /* owned; `connections` of them */
    struct peer_slot *slots; /* owned; plan->in_flight for each peer */
    int epoll;
    uint32_t live;        /* peers that are open */
    uint32_t opening;     /* peers on their way to it */
    uint32_t churn_next;  /* where to look for the next one to be replaced */
    struct buffer head;   /* a request up to its payload; its id is patched */
    uint8_t *payload;     /* owned; as many bytes as the longest payload has */
    uint8_t *scratch;     /* owned; LOAD_SCRATCH bytes */
    uint64_t in_flight;   /* of all peers */
    struct peer **ready;  /* owned; open loop: a ring of the peers that have a free slot */
    uint32_t ready_first; /* in the ring */
    uint32_t ready_count; /* in the ring */
    struct peer **dirty;  /* owned; peers with bytes to be written in this round */
    uint32_t dirty_count;
    struct pace pace;  /* of requests; open loop */
    struct pace churn; /* of connections */
    struct bench_random sizes;
    uint64_t now;          /* of this round, and of each batch of answers */
    uint64_t place_ns;     /* when a place came free after there had been none; 0: always */
    uint64_t begin_ns;     /* what is sent from here on counts; 0: not yet known */
    uint64_t end_ns;       /* UINT64_MAX: no limit */
    uint64_t sent_last_ns; /* when sending was last allowed */
    uint64_t answer_ns;    /* of the last answer that counts */
    uint64_t looked_ns;    /* when timeouts were last looked at */
    uint64_t told_ns;      /* when news were last written */
    struct load_news news; /* since told_ns */
    bool starved;          /* requests are due, and no place is free */
    bool running;          /* the opening is over */
    bool sending;
};

/* ---- load_loop.c ---- */

uint64_t load_now_ns(void);

/* The life of a thread: opens, waits for the start, sends and takes answers, closes. */
void *load_thread(void *load);

/* Whether a request that was to be sent then is of what the run reports. */
static inline bool load_counts(const struct load *l, uint64_t since_ns)
{
    return since_ns >= l->begin_ns;
}

/* ---- load_peers.c ---- */

void load_open_next(struct load *l, struct peer *p); /* a closed one */
void load_open_on(struct load *l, struct peer *p);   /* when what it needed has come */
void load_look_at_timeouts(struct load *l);
void load_watch(struct load *l, struct peer *p, uint32_t events);

/* The connection broke: counts it and what was in flight; it stays closed. */
void load_drop(struct load *l, struct peer *p, const char *why);

/* Requests of this peer that count and have no answer. */
uint64_t load_lost(const struct load *l, const struct peer *p);

/* Retires as many peers as are due. */
void load_churn(struct load *l);

/* Closes a retiring peer that has nothing in flight, and opens it anew. */
void load_replace(struct load *l, struct peer *p);

/* ---- load_send.c ---- */

/* The peer has a free slot: sends at once (closed loop), or queues it for the next that is due. */
void load_offer(struct load *l, struct peer *p);
void load_send_due(struct load *l); /* open loop: all that is due, as far as there are places */
void load_stop_sending(struct load *l);

/* ---- load_traffic.c ---- */

bool load_make_request(struct load *l); /* false: out of memory */

/* Into a free slot, which there is; to be written by load_flush(). False: out of memory. */
bool load_append_request(struct load *l, struct peer *p, uint64_t since_ns);

void load_flush(struct load *l, struct peer *p); /* may drop it */
void load_read(struct load *l, struct peer *p);  /* may drop it */

#endif
