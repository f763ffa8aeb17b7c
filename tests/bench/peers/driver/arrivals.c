#include "tests/bench/peers/driver/arrivals.h"

#include <math.h>

void arrivals_init(struct arrivals *a, double per_second)
{
    *a =
        (struct arrivals){.gap = per_second > 0 ? 1e9 / per_second : 0, .seed = 0x9e3779b97f4a7c15};
}

void arrivals_start(struct arrivals *a, uint64_t now)
{
    a->due = (double)now;
    arrivals_advance(a);
}

/* xorshift64: the same arrivals for every server. */
static double uniform(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)((*seed >> 11) + 1) * 0x1p-53;
}

void arrivals_advance(struct arrivals *a)
{
    a->due -= log(uniform(&a->seed)) * a->gap;
}
