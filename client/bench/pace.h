/* When the requests of an open loop are to be sent, whatever the answers do.  Pure: the time is
 * given, so that tests run it on a virtual clock. */
#ifndef ERGON_BENCH_PACE_H
#define ERGON_BENCH_PACE_H

#include "client/bench/random.h"

#include <stdbool.h>

enum pace_kind {
    PACE_POISSON, /* as many users that know nothing of each other would */
    PACE_FIXED    /* equal distances */
};

/* One thread's part of a schedule: thread `index` of `threads`. */
struct pace_part {
    enum pace_kind kind;
    double rate; /* a second, of all threads together; above 0 */
    uint32_t index;
    uint32_t threads;
    uint32_t start; /* how often there was a schedule before: Poisson arrivals differ each time */
};

struct pace {
    enum pace_kind kind;
    struct bench_random random;
    double interval_ns; /* mean distance */
    uint64_t start_ns;
    double offset_ns; /* of the next one, from start_ns; Poisson */
    double phase_ns;  /* of the first one, from start_ns; fixed */
    uint64_t taken;
};

/* Fixed parts interleave; Poisson parts have seeds of their own, and their sum is Poisson again. */
void pace_init(struct pace *p, const struct pace_part *part, uint64_t start_ns);

/* The time of the next one, which stays the next until it is taken. */
uint64_t pace_next(const struct pace *p);
void pace_take(struct pace *p);

/* Takes all that are due before `end_ns`, and tells how many of them are due from `begin_ns` on. */
uint64_t pace_skip(struct pace *p, uint64_t begin_ns, uint64_t end_ns);

/* How late the generator itself was with what it sends now: counted from the intended time, or from
 * the moment when a place for it came free, if that was later. */
uint64_t pace_lag(uint64_t intended_ns, uint64_t free_ns, uint64_t now_ns);

#endif
