/* What a load is to do.  Plain data: the threads of a load read it and change nothing. */
#ifndef ERGON_BENCH_PLAN_H
#define ERGON_BENCH_PLAN_H

#include "client/bench/mix.h"
#include "client/bench/pace.h"
#include "client/bench/protocol.h"
#include "client/bench/size.h"
#include "client/lib/tls.h"
#include "base/url.h"

enum { LOAD_THREADS_MAX = 256 };

struct load_target {
    const struct url *url;
    struct tls_files tls;    /* for URL_TLS */
    const char *server_name; /* for URL_TLS */
    bool resume;             /* for URL_TLS: handshakes go on with older sessions */
    uint64_t timeout_ns;     /* of the opening of one connection; above 0 */
};

/* All pointers are the caller's, and outlive the load. */
struct load_plan {
    struct load_target target;
    const struct protocol *protocol;
    const void *work;          /* for the protocol */
    struct bench_mix mix;      /* which of its calls a request is; all zero: it has one */
    struct bench_size payload; /* of each request; all zero where the protocol has no use for it */
    uint32_t threads;          /* 1 to LOAD_THREADS_MAX, and not more than connections */
    uint32_t connections;      /* of all threads together */
    uint32_t in_flight;        /* of each connection, at most */
    double rate;               /* requests a second, of all together; 0: closed loop */
    enum pace_kind pace;       /* of an open loop */
    /* Of an open loop: all that is due goes to one connection, as far as it has places; else one
     * request to each in turn. */
    bool bursts;
    bool spins;           /* of an open loop: the thread never sleeps, and is late by less */
    double churn;         /* connections a second that are replaced by new ones; 0: none */
    uint64_t warmup_ns;   /* before anything counts */
    uint64_t duration_ns; /* of what counts; 0: no limit */
    bool series;          /* each second is noted */
    uint64_t requests;    /* that count, of all connections together; 0: no limit */

    /* Called from time to time by the thread of load_run(), while connecting with connected <
     * connections.  May be NULL. */
    void (*progress)(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers);
    void *progress_arg;
    int stop_fd; /* readable: the run is to end early; nobody reads it.  -1: none */
};

#endif
