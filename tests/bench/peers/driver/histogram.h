/* Times in log-linear buckets: 128 to each power of two, so that a percentile is at most 0.8 % off.
 */
#ifndef ERGON_PEERS_HISTOGRAM_H
#define ERGON_PEERS_HISTOGRAM_H

#include <stdint.h>

enum {
    HISTOGRAM_BITS = 7,
    HISTOGRAM_BUCKETS = (40 - HISTOGRAM_BITS) << HISTOGRAM_BITS, /* up to 2^39 ns, nine minutes */
};

struct histogram {
    uint64_t count;
    uint64_t max; /* ns */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

static inline uint32_t histogram_bucket(uint64_t ns)
{
    uint64_t v = ns < (1ull << 39) ? ns : (1ull << 39) - 1;
    uint32_t top = v < (1u << HISTOGRAM_BITS) ? HISTOGRAM_BITS : 63 - (uint32_t)__builtin_clzll(v);
    uint32_t shift = top - HISTOGRAM_BITS;

    return (shift << HISTOGRAM_BITS) + (uint32_t)(v >> shift);
}

static inline void histogram_add(struct histogram *h, uint64_t ns)
{
    h->count++;
    h->max = ns > h->max ? ns : h->max;
    h->buckets[histogram_bucket(ns)]++;
}

/* In ns, the middle of its bucket; 0 of an empty one.  share is 0 to 1. */
double histogram_percentile(const struct histogram *h, double share);

#endif
