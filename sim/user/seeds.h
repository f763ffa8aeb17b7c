/* Runs `ergon-sim --module M SCENARIO` and `ergon-sim --remote SCENARIO`: seed by seed, each in a
 * process of its own, until a seed has a finding. */
#ifndef ERGON_SIM_USER_SEEDS_H
#define ERGON_SIM_USER_SEEDS_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_STAND_INS_MAX = 8 };

struct sim_user_options {
    const char *program; /* as it was called */
    const char *scenario, *module;
    const char *stand_ins[SIM_STAND_INS_MAX + 1]; /* NULL behind the last */
    bool remote; /* handlers run in workers of the process that started us; see remote.h */
    uint64_t seed, count;
};

/* Returns the exit status: 0 no finding, 1 a finding, 2 the scenario or the module cannot be used.
 */
int sim_user_seeds(const struct sim_user_options *o);

#endif
