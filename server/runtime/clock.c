#include <ergon/activator.h>

#include <time.h>

static ao_time read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts); /* cannot fail: the clock exists and the pointer is good */
    return AO_S(ts.tv_sec) + (ao_time)ts.tv_nsec;
}

static ao_time monotonic(void *arg)
{
    (void)arg;
    return read_clock(CLOCK_MONOTONIC);
}

static ao_time monotonic_coarse(void *arg)
{
    (void)arg;
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

const struct ao_clock ao_clock_monotonic = {.now = monotonic, .coarse = monotonic_coarse};
