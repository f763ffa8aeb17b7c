#include "client/bench/text.h"

#include <stdio.h>

const struct percentile PERCENTILES[PERCENTILE_COUNT] = {
    {"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}, {"max", 100}};

const char *grouped(uint64_t n, char buf[NUMBER_SIZE])
{
    char *p = buf + NUMBER_SIZE - 1;
    int digits = 0;
    *p = 0;
    do {
        if (digits > 0 && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + n % 10);
        digits++;
        n /= 10;
    } while (n > 0);
    return p;
}

const char *time_text(uint64_t ns, char buf[TIME_SIZE])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;
    while (value >= 999.5 && unit < 3) {
        value /= 1000;
        unit++;
    }
    int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(buf, TIME_SIZE, "%.*f %s", decimals, value, units[unit]);
    return buf;
}

double per_second(uint64_t count, uint64_t ns)
{
    return ns == 0 ? 0 : (double)count * 1e9 / (double)ns;
}
