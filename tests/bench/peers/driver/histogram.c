#include "tests/bench/peers/driver/histogram.h"

/* Where a bucket begins: the inverse of histogram_bucket(). */
static double bucket_begin(uint32_t bucket)
{
    uint32_t whole = 1u << HISTOGRAM_BITS;

    if (bucket < whole)
        return bucket;
    uint32_t shift = (bucket >> HISTOGRAM_BITS) - 1;
    return (double)((uint64_t)(whole + (bucket & (whole - 1))) << shift);
}

double histogram_percentile(const struct histogram *h, double share)
{
    uint64_t rank = (uint64_t)(share * (double)h->count), seen = 0;

    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen > rank)
            return (bucket_begin(i) + bucket_begin(i + 1)) / 2;
    }
    return (double)h->max;
}
