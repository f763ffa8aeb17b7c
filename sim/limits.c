#include "sim/limits.h"

#include <string.h>

#include "sim/chance.h"

static const struct sim_limit limits[] = {{"one", 1}, {"two", 2}, {"three", 3}};
enum { LIMITS = sizeof limits / sizeof *limits };

const struct sim_limit *sim_limit_any(void)
{
    return &limits[sim_below(SIM_DEEDS, LIMITS)];
}

uint64_t sim_limit_at(const char *key, uint64_t time)
{
    (void)time;
    for (uint32_t n = 0; n < LIMITS; n++)
        if (strcmp(limits[n].key, key) == 0)
            return limits[n].max;
    return UINT64_MAX;
}
