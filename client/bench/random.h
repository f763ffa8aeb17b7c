/* Randomness of a load: a sequence that its seed fixes (SplitMix64).  Pure; each sequence belongs
 * to one thread. */
#ifndef ERGON_BENCH_RANDOM_H
#define ERGON_BENCH_RANDOM_H

#include <math.h>
#include <stdint.h>

struct bench_random {
    uint64_t state; /* any value is a seed */
};

static inline uint64_t bench_random_next(struct bench_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Above 0 and at most 1, so that its logarithm is finite. */
static inline double bench_random_unit(struct bench_random *r)
{
    return (double)((bench_random_next(r) >> 11) + 1) * 0x1p-53;
}

/* Exponentially distributed. */
static inline double bench_random_exponential(struct bench_random *r, double mean)
{
    return -log(bench_random_unit(r)) * mean;
}

#endif
