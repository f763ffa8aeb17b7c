/* The search for the highest rate that meets an objective.  Pure: its caller says how each rate
 * went.  Doubles (or halves) until it has one rate that meets it and one that does not, then
 * closes in between them. */
#ifndef ERGON_BENCH_SEARCH_H
#define ERGON_BENCH_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_SEARCH_STEPS = 32 }; /* the most that it asks for */

struct bench_objective {
    char name[12];     /* "p99.9" */
    double percent;    /* 99.9; 100 for "max" */
    uint64_t limit_ns; /* the latency may be so much */
};

/* "p99.9=5ms", "max=20ms".  False: it is something else, and `out` is undefined. */
bool bench_objective_parse(const char *text, struct bench_objective *out);

struct bench_search {
    uint64_t good; /* the highest that met it; 0: none */
    uint64_t bad;  /* the lowest above `good` that did not; 0: none */
    uint64_t next; /* to be tried */
    unsigned steps;
};

void bench_search_init(struct bench_search *s, uint64_t first); /* first: 1 or more, a second */

/* Tells how `next` went.  False: the search is over, and `good` is its result; else there is
 * a `next`. */
bool bench_search_step(struct bench_search *s, bool met);

#endif
