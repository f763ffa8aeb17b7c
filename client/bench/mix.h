/* Which of several calls a request is, by their weights.  Pure. */
#ifndef ERGON_BENCH_MIX_H
#define ERGON_BENCH_MIX_H

#include "client/bench/random.h"

#include <stdbool.h>

enum { BENCH_MIX_MAX = 64 /* calls */ };

/* All zero: there is one call. */
struct bench_mix {
    uint32_t count;
    uint32_t up_to[BENCH_MIX_MAX]; /* sums of the weights, up to and with each call's */
};

/* One more call, with a weight above 0.  False: there are BENCH_MIX_MAX, or the weights' sum is
 * beyond 2^32 - 1. */
bool bench_mix_add(struct bench_mix *m, uint32_t weight);

uint32_t bench_mix_draw_one(const struct bench_mix *m, struct bench_random *random);

static inline uint32_t bench_mix_draw(const struct bench_mix *m, struct bench_random *random)
{
    return m->count > 1 ? bench_mix_draw_one(m, random) : 0;
}

#endif
