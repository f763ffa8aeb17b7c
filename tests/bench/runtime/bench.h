/* The few lines that these benchmarks share. */
#ifndef ERGON_BENCH_RUNTIME_BENCH_H
#define ERGON_BENCH_RUNTIME_BENCH_H

#include <ergon/activator.h>

enum { BENCH_REPEATS = 5 };

/* The best of some repeats, in ns for one of `n` operations that `run` does. */
static inline double bench_best(void (*run)(void *arg), void *arg, uint64_t n)
{
    ao_time best = AO_NEVER;
    for (int i = 0; i < BENCH_REPEATS; i++) {
        ao_time began = ao_clock_monotonic.now(NULL);
        run(arg);
        ao_time took = ao_clock_monotonic.now(NULL) - began;
        best = took < best ? took : best;
    }
    return (double)best / (double)n;
}

#endif
