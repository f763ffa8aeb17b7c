/* Figures as people read them, and the percentiles that a report has.  Constants and pure
 * functions, each of which returns its `buf`. */
#ifndef ERGON_BENCH_TEXT_H
#define ERGON_BENCH_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_SIZE = 40, TIME_SIZE = 32, PERCENTILE_COUNT = 6 };

struct percentile {
    const char *name;
    double percent;
};

extern const struct percentile PERCENTILES[PERCENTILE_COUNT];

/* 1234567 -> "1,234,567" */
const char *grouped(uint64_t n, char buf[NUMBER_SIZE]);

/* Three digits and a unit: 1234567 -> "1.23 ms" */
const char *time_text(uint64_t ns, char buf[TIME_SIZE]);

double per_second(uint64_t count, uint64_t ns); /* 0 when ns is 0 */

#endif
