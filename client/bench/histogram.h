/* Counts of values over many orders of magnitude, exact to three digits: log-linear, as HDR
 * histograms are.  Pure but for its own memory. */
#ifndef ERGON_BENCH_HISTOGRAM_H
#define ERGON_BENCH_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HISTOGRAM_STEPS_LOG2 = 10, /* 1,024 steps for each doubling: an error below one in a thousand */
    HISTOGRAM_VALUE_LOG2 = 42, /* values are below 2^42; in nanoseconds, 73 minutes */
    HISTOGRAM_CELLS = (HISTOGRAM_VALUE_LOG2 - HISTOGRAM_STEPS_LOG2 + 1) << HISTOGRAM_STEPS_LOG2
};

struct histogram {
    uint64_t *cells; /* owned, HISTOGRAM_CELLS of them */
    uint64_t count;
    uint64_t sum; /* of the values as they came */
    uint64_t min; /* as it came; valid when count is not 0 */
    uint64_t max; /* as it came */
};

bool histogram_init(struct histogram *h); /* false: out of memory */
void histogram_fini(struct histogram *h);
void histogram_reset(struct histogram *h);

/* Larger values count as the largest that there is. */
void histogram_add(struct histogram *h, uint64_t value);

/* Adds all that `from` holds, as if it had been added to `to` one by one. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* The value that `percent` of all values do not exceed, to three digits and never above max; 0 when
 * there are none.  percent is 0 to 100. */
uint64_t histogram_percentile(const struct histogram *h, double percent);

/* How many values are not above `value`, to three digits. */
uint64_t histogram_count_to(const struct histogram *h, uint64_t value);

double histogram_mean(const struct histogram *h);      /* 0 when there are no values */
double histogram_deviation(const struct histogram *h); /* the standard deviation */

#endif
