#include "client/bench/mix.h"

bool bench_mix_add(struct bench_mix *m, uint32_t weight)
{
    uint32_t before = m->count > 0 ? m->up_to[m->count - 1] : 0;
    if (m->count == BENCH_MIX_MAX || weight > UINT32_MAX - before)
        return false;
    m->up_to[m->count++] = before + weight;
    return true;
}

/* The multiplication spreads 32 random bits evenly over the sum (Lemire, "Fast Random Integer
 * Generation in an Interval", 2019, without its rejection: the error is below 2^-32 of a weight).
 */
uint32_t bench_mix_draw_one(const struct bench_mix *m, struct bench_random *random)
{
    uint64_t bits = bench_random_next(random) >> 32;
    uint32_t at = (uint32_t)(bits * m->up_to[m->count - 1] >> 32);
    uint32_t first = 0, last = m->count - 1;
    while (first < last) {
        uint32_t middle = (first + last) / 2;
        if (at < m->up_to[middle])
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}
