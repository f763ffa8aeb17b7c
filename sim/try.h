/* A run in a process of its own, and what became of it. */
#ifndef ERGON_SIM_TRY_H
#define ERGON_SIM_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/script.h"

enum { SIM_FINDING_MAX = 400, SIM_KEY = 64 };

struct sim_outcome {
    bool failed;
    char key[SIM_KEY]; /* which promise was broken: two runs that break the same one have one key */
    char finding[SIM_FINDING_MAX];
};

/* A seed; its lines go to `lines`, of which the caller frees the array. */
struct sim_outcome sim_try_seed(uint64_t seed, struct sim_script *lines);
struct sim_outcome sim_try_script(const struct sim_script *s);

#endif
