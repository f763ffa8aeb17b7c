/* A load run: many connections with many requests in flight each, driven by some threads, either as
 * fast as answers come (closed loop) or at a rate of its own (open loop). */
#ifndef ERGON_BENCH_LOAD_H
#define ERGON_BENCH_LOAD_H

#include "client/bench/pace.h"
#include "client/bench/size.h"
#include "client/bench/histogram.h"
#include "client/lib/tls.h"
#include "base/url.h"
#include "base/span.h"

#include <ergon/client.h>

enum { LOAD_CODES_MAX = 32, LOAD_CODE_SIZE = 32, LOAD_THREADS_MAX = 256, LOAD_WHY_SIZE = 256 };

struct load_target {
    const struct url *url;
    struct tls_files tls;    /* for URL_TLS */
    const char *server_name; /* for URL_TLS */
    bool resume;             /* for URL_TLS: handshakes go on with older sessions */
    const char *token;       /* NULL: none */
    uint64_t timeout_ns;     /* of the opening of one connection; above 0 */
};

struct load_plan {
    struct load_target target;
    uint32_t threads;     /* 1 to LOAD_THREADS_MAX, and not more than connections */
    uint32_t connections; /* of all threads together */
    uint32_t in_flight;   /* of each connection, at most */
    double rate;          /* requests a second, of all together; 0: closed loop */
    enum pace_kind pace;  /* of an open loop */
    double churn;         /* connections a second that are replaced by new ones; 0: none */
    uint64_t warmup_ns;   /* before anything counts */
    uint64_t duration_ns; /* of what counts; 0: no limit */
    uint64_t requests;    /* that count, of all connections together; 0: no limit */
    struct span method;
    struct span params;        /* raw, unless there is a payload */
    bool has_payload;          /* the one parameter is bytes of this size: */
    struct bench_size payload; /* valid with has_payload */

    /* Called from time to time by the thread of load_run(), while connecting with connected <
     * connections.  May be NULL. */
    void (*progress)(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers);
    void *progress_arg;
    int stop_fd; /* readable: the run is to end early; nobody reads it.  -1: none */
};

struct load_errors {
    char code[LOAD_CODE_SIZE]; /* "BUSY"; "other" for errors without a code */
    uint64_t count;
};

/* Of the requests that were to be sent after the warm-up. */
struct load_result {
    struct histogram latency; /* ns, of every answer, errors too; open loop: from when it was to be
                                 sent */
    struct histogram lag;     /* ns, what the generator added itself; open loop */
    struct histogram opening; /* ns, of each connection, up to its being ready for a request;
                                 with churn only of those of the churn */
    uint64_t due;             /* requests that the schedule had; open loop */
    uint64_t held;            /* of them waited for a place in flight */
    uint64_t sent;
    uint64_t good; /* answers without an error */
    uint64_t lost; /* requests whose connection broke, or that had no answer at the end */
    uint64_t churn_due;
    uint64_t churned; /* of them, connections that were closed in order to be opened anew */
    uint64_t resumed; /* of the count of `opening` */
    uint32_t broken;  /* connections */
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t elapsed_ns; /* first request to last answer, or to the end of sending */
    double busy;         /* share of that time that the busiest thread was running */
    struct load_errors errors[LOAD_CODES_MAX];
    size_t error_kinds;
    char why[LOAD_WHY_SIZE]; /* of a failed start, or of the last connection that broke */
};

/* Blocks for the whole run.  ERGON_END_OK when it ran, whatever the answers were;
 * ERGON_END_CANCELLED when stop_fd ended it before its first request; ERGON_END_INVALID when a file
 * of the target is of no use; otherwise result->why.  The result is to be given to
 * load_result_fini() in either case. */
enum ergon_end load_run(const struct load_plan *plan, struct load_result *result);
void load_result_fini(struct load_result *result);

#endif
