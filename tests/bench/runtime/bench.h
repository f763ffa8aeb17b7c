/* The few lines that these benchmarks share. */
#ifndef ERGON_BENCH_RUNTIME_BENCH_H
#define ERGON_BENCH_RUNTIME_BENCH_H

#include <ergon/activator.h>
#include <pthread.h>
#include <sched.h>

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

/* The numbers below `count` in an order that chance decides. */
static inline void bench_shuffle(uint32_t *order, uint32_t count, struct activator *chance)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(activator_random(chance) % (i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

/* The calling thread stays on this processor, where there is one. */
static inline void bench_pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

#endif
