#include "base/clock.h"

#include <ergon/activator.h>

static ao_time monotonic(void *arg)
{
    (void)arg;
    return clock_monotonic();
}

static ao_time monotonic_coarse(void *arg)
{
    (void)arg;
    return clock_coarse();
}

const struct ao_clock ao_clock_monotonic = {.now = monotonic, .coarse = monotonic_coarse};
