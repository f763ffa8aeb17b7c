/* Runs seeds, each in a process of its own, and futures of a seed.  Futures are equal up to a
 * moment at which the process is copied, and have other chance from there on. */
#ifndef ERGON_SIM_SEEDS_H
#define ERGON_SIM_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_seeds {
    const char *program; /* named in the command that repeats a failed run */
    uint64_t seed, count;
    bool first;       /* stop at the first seed that fails */
    bool cluster;     /* of several nodes */
    uint64_t from;    /* ms; 0: no futures */
    uint64_t futures; /* how many runs continue from there */
    uint64_t future;  /* without `futures`: the number of the only future that runs */
};

/* Prints a line for each run: its hash and what it did, or how to repeat it.  Returns true if no
 * run met a finding. */
bool sim_seeds_run(const struct sim_seeds *what);

/* The process ends by a signal if its run takes many times as long as any should: in time of the
 * processor, as a busy machine is no fault, and in real time, as it might wait for ever.  It is for
 * one run: call it once more to begin anew. */
void sim_patience_begin(void);
void sim_patience_end(void);

#endif
