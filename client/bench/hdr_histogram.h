/* Counts of values over many orders of magnitude, exact to three digits: log-linear, as HDR
 * histograms are.  Pure but for its own memory. */
#ifndef ERGON_BENCH_HDR_HISTOGRAM_H
#define ERGON_BENCH_HDR_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HDR_STEPS_LOG2 = 10, /* 1,024 steps for each doubling: an error below one in a thousand */
    HDR_VALUE_LOG2 = 42, /* values are below 2^42; in nanoseconds, 73 minutes */
    HDR_CELLS = (HDR_VALUE_LOG2 - HDR_STEPS_LOG2 + 1) << HDR_STEPS_LOG2
};

struct hdr_histogram {
    uint64_t *cells; /* owned, HDR_CELLS of them */
    uint64_t count;
    uint64_t sum; /* of the values as they came */
    uint64_t min; /* as it came; valid when count is not 0 */
    uint64_t max; /* as it came */
};

bool hdr_init(struct hdr_histogram *h); /* false: out of memory */
void hdr_fini(struct hdr_histogram *h);
void hdr_reset(struct hdr_histogram *h);

/* Where a value is counted.  The first two thousand have a cell each; every doubling behind them
 * has half as many. */
static inline size_t hdr_cell(uint64_t value)
{
    const uint64_t largest = (UINT64_C(1) << HDR_VALUE_LOG2) - 1;
    uint64_t kept = value < largest ? value : largest;
    unsigned log2 = 63u - (unsigned)__builtin_clzll(kept | 1 << HDR_STEPS_LOG2);
    unsigned shift = log2 - HDR_STEPS_LOG2;
    return ((size_t)shift << HDR_STEPS_LOG2) + (size_t)(kept >> shift);
}

/* The largest value that is counted there. */
uint64_t hdr_cell_top(size_t cell);

/* Values that are too large count as the largest that there is.  Inline: it is part of each request
 * of a load. */
static inline void hdr_add(struct hdr_histogram *h, uint64_t value)
{
    h->cells[hdr_cell(value)]++;
    h->count++;
    h->sum += value;
    if (value < h->min)
        h->min = value;
    if (value > h->max)
        h->max = value;
}

/* Adds all that `from` holds, as if it had been added to `to` one by one. */
void hdr_merge(struct hdr_histogram *to, const struct hdr_histogram *from);

/* The value that `percent` of all values do not exceed, to three digits and never above max; 0 when
 * there are none.  percent is 0 to 100. */
uint64_t hdr_percentile(const struct hdr_histogram *h, double percent);

/* How many values are not above `value`, to three digits. */
uint64_t hdr_count_to(const struct hdr_histogram *h, uint64_t value);

double hdr_mean(const struct hdr_histogram *h);      /* 0 when there are no values */
double hdr_deviation(const struct hdr_histogram *h); /* the standard deviation */

#endif
