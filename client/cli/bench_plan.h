/* The options of `ergon bench`, and the load that they mean. */
#ifndef ERGON_CLI_BENCH_PLAN_H
#define ERGON_CLI_BENCH_PLAN_H

#include "client/cli/bench_search.h"
#include "client/cli/cli.h"
#include "client/cli/load.h"

struct bench_options {
    uint64_t connections;
    uint64_t in_flight;
    uint64_t threads;
    uint64_t rate; /* 0: closed loop */
    uint64_t churn;
    uint64_t warmup_ns;
    uint64_t duration_ns;
    uint64_t requests;
    const char *arrivals;
    const char *handshake;
    const char *payload;
    const char *method;
    const char *sweep;     /* NULL: none */
    const char *histogram; /* path; NULL: none */
};

extern const struct option_spec BENCH_OPTIONS[];
extern const struct bench_options BENCH_DEFAULTS;

/* A load and what it points into. */
struct bench_plan {
    struct load_plan load;
    struct url url;
    bool sweeps;
    struct bench_objective objective; /* valid with sweeps */
};

/* Fills all but params, progress and stop_fd.  False: a message was printed.  `b` must not move
 * afterwards; strings are those of `g` and `o`. */
bool bench_plan_make(struct bench_plan *b, const struct globals *g, const struct bench_options *o);

#endif
