#include "client/bench/pace.h"

void pace_init(struct pace *p, const struct pace_part *part, uint64_t start_ns)
{
    *p = (struct pace){
        .kind = part->kind,
        .random = {part->index + (uint64_t)part->start * part->threads},
        .interval_ns = 1e9 / part->rate * part->threads,
        .start_ns = start_ns,
        .phase_ns = 1e9 / part->rate * part->index,
    };
    if (p->kind == PACE_POISSON)
        p->offset_ns = bench_random_exponential(&p->random, p->interval_ns);
}

uint64_t pace_next(const struct pace *p)
{
    switch (p->kind) {
    case PACE_POISSON:
        return p->start_ns + (uint64_t)p->offset_ns;
    case PACE_FIXED: /* by multiplication: no error adds up */
        return p->start_ns + (uint64_t)(p->phase_ns + (double)p->taken * p->interval_ns);
    }
    return UINT64_MAX;
}

void pace_take(struct pace *p)
{
    p->taken++;
    if (p->kind == PACE_POISSON)
        p->offset_ns += bench_random_exponential(&p->random, p->interval_ns);
}

uint64_t pace_skip(struct pace *p, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t due = 0;
    for (uint64_t next = pace_next(p); next < end_ns; next = pace_next(p)) {
        due += next >= begin_ns;
        pace_take(p);
    }
    return due;
}

uint64_t pace_lag(uint64_t intended_ns, uint64_t free_ns, uint64_t now_ns)
{
    uint64_t possible = intended_ns > free_ns ? intended_ns : free_ns;
    return now_ns > possible ? now_ns - possible : 0;
}
