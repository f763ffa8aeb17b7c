/* A load: when each task arrives, and how long its service takes.  Drawn once from a seed, so that
 * the simulator and the real task system are given the very same tasks.
 *
 * Unit of all times: the mean time of service. */
#ifndef ERGON_BENCH_SCHED_LOAD_H
#define ERGON_BENCH_SCHED_LOAD_H

#include <stdint.h>

enum law {
    LAW_FIXED,
    LAW_EXPONENTIAL,
    LAW_LOGNORMAL, /* sigma 1 */
    LAW_BIMODAL,   /* 99.5 % short, 0.5 % a hundred times as long */
    LAWS
};

struct load {
    uint32_t count;
    double *arrivals; /* ascending: a Poisson process, or all 0 */
    double *services;
};

/* `rate` tasks arrive in a mean time of service; 0: all are there from the start.  0, or -1 without
 * memory. */
int load_init(struct load *l, enum law law, double rate, uint32_t count, uint64_t seed);
void load_fini(struct load *l);

const char *law_name(enum law law);
double law_second_moment(enum law law); /* of the time of service, whose mean is 1 */

/* The value that a part of all, 0 to 1, does not exceed.  Changes the order of `values`. */
double quantile(double *values, uint32_t count, double part);

/* The next number of a seed's sequence; the unit interval without 0. */
uint64_t draw(uint64_t *seed);
double draw_unit(uint64_t *seed);

#endif
