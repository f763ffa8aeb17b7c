/* Seeds, each in a process of its own, and the futures of one: runs that are alike up to a moment,
 * where the process is copied, and have other chance from there on. */
#ifndef ERGON_SIM_SEEDS_H
#define ERGON_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_PATIENCE_S = 120 /* of real time: a run takes a fraction of a second */ };

struct sim_seeds {
    const char *program; /* which repeats one that fails */
    uint64_t seed, count;
    bool first;       /* the first that fails is the last */
    uint64_t from;    /* ms; 0: no futures */
    uint64_t futures; /* how many go on from there */
    uint64_t future;  /* without `futures`: which one goes on */
};

/* Prints a line a run: its hash, and what it did, or how to repeat it.  Returns whether none met a
 * finding. */
bool sim_seeds_run(const struct sim_seeds *what);

#endif
