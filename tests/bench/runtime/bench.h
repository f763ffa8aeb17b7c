/* The few lines that these benchmarks share. */
#ifndef ERGON_BENCH_RUNTIME_BENCH_H
#define ERGON_BENCH_RUNTIME_BENCH_H

#include <ergon/activator.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BENCH_REPEATS = 5, BENCH_TURNS = 9 };

static inline double bench_once(void (*run)(void *arg), void *arg, uint64_t n)
{
    ao_time began = ao_clock_monotonic.now(NULL);
    run(arg);
    return (double)(ao_clock_monotonic.now(NULL) - began) / (double)n;
}

/* The best of some repeats, in ns for one of `n` operations that `run` does. */
static inline double bench_best(void (*run)(void *arg), void *arg, uint64_t n)
{
    double best = bench_once(run, arg, n);
    for (int i = 1; i < BENCH_REPEATS; i++) {
        double ns = bench_once(run, arg, n);
        best = ns < best ? ns : best;
    }
    return best;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_median(double values[BENCH_TURNS])
{
    qsort(values, BENCH_TURNS, sizeof *values, bench_compare);
    return values[BENCH_TURNS / 2];
}

/* Medians, ns for one of n operations; the ratio is the median of the turns' own. */
struct bench_pair {
    double ours, other, ratio; /* ratio: ours over other */
};

/* Two ways in turns, so that what else the machine does meets both. */
static inline struct bench_pair bench_in_turns(void (*ours)(void *arg), void (*other)(void *arg),
                                               void *arg, uint64_t n)
{
    double a[BENCH_TURNS], b[BENCH_TURNS], ratio[BENCH_TURNS];
    for (int i = 0; i < BENCH_TURNS; i++) {
        b[i] = bench_once(other, arg, n);
        a[i] = bench_once(ours, arg, n);
        ratio[i] = a[i] / b[i];
    }
    return (struct bench_pair){bench_median(a), bench_median(b), bench_median(ratio)};
}

/* Zeroed memory for many objects, on huge pages where the system has them; free() it.  Ends the
 * program without memory. */
static inline void *bench_objects(size_t count, size_t size)
{
    enum { HUGE_PAGE = 2 << 20 };
    size_t bytes = (count * size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *memory = aligned_alloc(HUGE_PAGE, bytes);
    if (!memory)
        exit(1);
    madvise(memory, bytes, MADV_HUGEPAGE); /* else small pages do */
    return memset(memory, 0, bytes);
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
