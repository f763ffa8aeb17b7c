/* One thread of a load: opens its connections, decides when to send, takes the answers, and
 * measures.  All functions are called by that thread, and those that say so block in the event loop
 * of the generator. */
#ifndef ERGON_BENCH_GENERATOR_H
#define ERGON_BENCH_GENERATOR_H

#include "client/bench/conn.h"
#include "client/bench/plan.h"
#include "client/bench/result.h"

/* What a generator has done since it last said so; written whole into a pipe. */
struct generator_progress {
    uint32_t connected;
    uint64_t answers;
    bool opened; /* all is connected, or failed: it waits for the start */
    bool ended;
};

struct generator {
    /* Set by its owner before generator_open(), all else zero. */
    /* Its numbers of threads, connections and requests are those of all together. */
    const struct load_plan *plan;
    uint32_t index;       /* of this thread */
    uint32_t connections; /* of this thread; above 0 */
    uint64_t requests;    /* this thread's part; 0: no limit */
    int progress_fd;      /* for struct generator_progress; -1: none */

    /* For its owner to read. */
    struct load_result result; /* owned by that owner, who gives it to load_result_fini() */
    enum ergon_end end;        /* of the opening */
    uint64_t begin_ns;         /* what is sent from here on counts; UINT64_MAX: nothing does */
    uint64_t sent_last_ns;     /* when sending was last allowed */
    uint64_t answer_ns;        /* of the last answer that counts */
    uint64_t now;              /* of this round, and of each batch of answers */
    struct generator_progress progress; /* since it was last written */

    /* Its own. */
    struct tls *tls;  /* owned; NULL: plain */
    struct dial dial; /* owned */
    struct conn_target target;
    struct outgoing out; /* empty between two events */
    struct request request;
    struct conn *all;   /* owned; `connections` of them */
    struct slot *slots; /* owned; plan->in_flight for each connection */
    int epoll;
    uint32_t live;        /* connections that are open */
    uint32_t opening;     /* connections on their way to it */
    uint32_t churn_next;  /* where to look for the next one to be replaced */
    uint8_t *payload;     /* owned; as many bytes as the longest has */
    uint8_t *in;          /* owned; what one read brings */
    uint64_t in_flight;   /* of all connections */
    struct conn **ready;  /* owned; open loop: a ring of those that have a free slot */
    uint32_t ready_first; /* in the ring */
    uint32_t ready_count; /* in the ring */
    struct conn **dirty;  /* owned; those with requests to be written in this round */
    uint32_t dirty_count;
    uint32_t starts;   /* how often it was started */
    struct pace pace;  /* of requests; open loop */
    struct pace churn; /* of connections */
    struct bench_random sizes;
    struct bench_random calls;
    uint64_t place_ns;    /* when a place came free after there had been none; 0: always */
    uint64_t end_ns;      /* what is due from here on is not sent */
    uint64_t looked_ns;   /* when timeouts were last looked at */
    uint64_t progress_ns; /* when progress was last written */
    bool waits_for_place; /* requests are due, and no place is free */
    bool running;         /* the opening is over */
    bool sending;
};

uint64_t generator_clock_ns(void); /* monotonic */

/* Opens all connections; blocks.  g->end tells how it went, and with anything but OK g->result.why
 * says why: CANCELLED (stop_fd), INVALID (a file of the target), DENIED, UNREACHABLE (also: out of
 * memory). */
void generator_open(struct generator *g);
void generator_close(struct generator *g); /* once; the result stays */

/* Sends and takes answers; blocks until `end_ns`, or earlier when stop_fd, or the number of
 * requests, or the end of all connections, ends the load.  What was in flight stays so:
 * generator_run() may be called again. */
void generator_run(struct generator *g, uint64_t end_ns);

/* Begins to send, with a schedule that starts then and nothing in flight.  What is sent after the
 * plan's warm-up counts. */
void generator_start(struct generator *g, uint64_t start_ns);

/* Sends no more, and takes the answers that are awaited; blocks until they are there, or for five
 * seconds.  What has no answer then is counted as lost.  generator_start() may follow. */
void generator_drain(struct generator *g);

/* Writes g->progress if it is time, or `now`. */
void generator_tell_progress(struct generator *g, bool now);

#endif
