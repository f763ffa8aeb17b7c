/* Whether a run is a result: an open loop that did not send when it meant to has measured
 * itself.  Pure. */
#ifndef ERGON_BENCH_JUDGE_H
#define ERGON_BENCH_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

struct bench_kept {
    uint64_t due;            /* requests that the schedule had in the measured time */
    uint64_t sent;           /* of them */
    uint64_t held;           /* of them had to wait for a place in flight */
    uint64_t lag_p99_ns;     /* of the generator */
    uint64_t latency_p99_ns; /* from the intended time */
    uint64_t churn_due;      /* new connections that the schedule had */
    uint64_t churned;        /* of them */
    double busy;             /* share of the time in which the busiest thread was running */
};

enum bench_verdict {
    BENCH_KEPT,
    BENCH_PLACES,  /* all places in flight were taken: the server answers more slowly than that */
    BENCH_BUSY,    /* a thread of the generator had nothing left */
    BENCH_LATE,    /* the generator was woken up, or got a processor, too late */
    BENCH_CHURNING /* connections were not opened as fast as asked */
};

/* At most one in a hundred may be missing, and at the 99th percentile the generator's own lag may
 * be 10 ms, or half of the latency if that is more. */
enum bench_verdict bench_judge(const struct bench_kept *k);

/* Whether such a run says nothing of the server, as the generator was the limit. */
bool bench_by_generator(enum bench_verdict v);

/* Whether most of a latency may be lag, which is contained in it: it can only be better than that.
 */
bool bench_mostly_lag(uint64_t lag_ns, uint64_t latency_ns);

/* Whether a thread that ran for this share of the time could have done no more: what it measured in
 * a closed loop may then be itself. */
bool bench_at_limit(double busy);

/* What happened, and what to do; NULL for BENCH_KEPT. */
const char *bench_verdict_text(enum bench_verdict v);

#endif
