/* Sizes of payloads: fixed, or drawn.  Pure. */
#ifndef ERGON_BENCH_SIZE_H
#define ERGON_BENCH_SIZE_H

#include "client/bench/random.h"

#include <stdbool.h>

enum { BENCH_SIZE_MAX = 1 << 30 }; /* bytes */

enum bench_size_kind { SIZE_FIXED, SIZE_UNIFORM, SIZE_EXPONENTIAL };

struct bench_size {
    enum bench_size_kind kind;
    uint64_t least; /* bytes */
    uint64_t mean;  /* bytes; exponential, before `most` cuts it */
    uint64_t most;  /* bytes; of no payload more */
};

/* "64", "64k", "uniform:64-4k", "exponential:1k".  NULL, or what it should have been. */
const char *bench_size_parse(const char *text, struct bench_size *out);

/* Of a kind that is not fixed. */
uint32_t bench_size_draw_random(const struct bench_size *s, struct bench_random *random);

static inline uint32_t bench_size_draw(const struct bench_size *s, struct bench_random *random)
{
    return s->kind == SIZE_FIXED ? (uint32_t)s->most : bench_size_draw_random(s, random);
}

#endif
