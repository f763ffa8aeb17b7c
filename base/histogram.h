/* How long something took, for people: one thread notes, any thread reads.  Relaxed on both sides,
 * as base/counter.h: each count is right by itself, and their sum may be off by what is being
 * noted.
 *
 * Buckets are log-linear, two to an octave, from 1.024 us (2^10 ns) to 68.7 s (2^36 ns).  Their
 * bounds are exact, so a coarser ladder of every fourth one is exact as well. */
#ifndef ERGON_BASE_HISTOGRAM_H
#define ERGON_BASE_HISTOGRAM_H

#include "base/counter.h"

enum {
    HISTOGRAM_LEAST = 10, /* binary logarithm of the first bound, ns */
    HISTOGRAM_MOST = 36,  /* of the last one */
    HISTOGRAM_LAST = 2 * (HISTOGRAM_MOST - HISTOGRAM_LEAST) + 1, /* what took longer */
    HISTOGRAM_BUCKETS = HISTOGRAM_LAST + 1
};

struct histogram {
    counter buckets[HISTOGRAM_BUCKETS];
    counter sum_ns;
};

/* What was read of one or several. */
struct histogram_sum {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    uint64_t sum_ns;
};

/* The bucket of so many ns.  Pure. */
static inline unsigned histogram_bucket(uint64_t ns)
{
    if (ns <= UINT64_C(1) << HISTOGRAM_LEAST)
        return 0;
    unsigned octave = 63u - (unsigned)__builtin_clzll(ns - 1);
    unsigned upper = (unsigned)((ns - 1) >> (octave - 1)) & 1;
    unsigned bucket = 2 * (octave - HISTOGRAM_LEAST) + upper + 1;
    return bucket < HISTOGRAM_LAST ? bucket : HISTOGRAM_LAST;
}

/* The most that is in this bucket, ns; of the last one there is none: 0.  Pure. */
static inline uint64_t histogram_bound(unsigned bucket)
{
    if (bucket >= HISTOGRAM_LAST)
        return 0;
    unsigned octave = HISTOGRAM_LEAST + bucket / 2;
    return bucket % 2 == 0 ? UINT64_C(1) << octave : UINT64_C(3) << (octave - 1);
}

/* The writer: it happened `times` times that something took so long. */
static inline void histogram_note(struct histogram *h, uint64_t ns, uint64_t times)
{
    counter_add(&h->buckets[histogram_bucket(ns)], times);
    counter_add(&h->sum_ns, ns * times);
}

/* Any thread: adds what it has. */
static inline void histogram_read(const struct histogram *h, struct histogram_sum *out)
{
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        out->buckets[i] += counter_read(&h->buckets[i]);
    out->sum_ns += counter_read(&h->sum_ns);
}

static inline uint64_t histogram_count(const struct histogram_sum *h)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        count += h->buckets[i];
    return count;
}

/* So many ns, or a bucket's width more, took no more than this share of all, which is in per mille;
 * 0: there are none.  Pure. */
static inline uint64_t histogram_quantile(const struct histogram_sum *h, uint64_t per_mille)
{
    uint64_t count = histogram_count(h), below = 0;
    for (unsigned i = 0; i < HISTOGRAM_LAST; i++) {
        below += h->buckets[i];
        if (below > 0 && below * 1000 >= count * per_mille)
            return histogram_bound(i);
    }
    return count > 0 ? histogram_bound(HISTOGRAM_LAST - 1) : 0;
}

#endif
