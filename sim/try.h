/* Runs a seed or a script in a process of its own, and returns the outcome. */
#ifndef ERGON_SIM_TRY_H
#define ERGON_SIM_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/script.h"

enum { SIM_FINDING_MAX = 400, SIM_KEY = 64 };

struct sim_outcome {
    bool failed;
    char key[SIM_KEY]; /* the broken promise: equal in two runs that break the same one */
    char finding[SIM_FINDING_MAX];
};

/* Runs a seed and records it to `lines`, whose array the caller frees. */
struct sim_outcome sim_try_seed(uint64_t seed, struct sim_script *lines);
struct sim_outcome sim_try_script(const struct sim_script *s);

#endif
