/* How long to wait before the next attempt to connect.  Pure; any thread. */
#ifndef ERGON_CLIENT_BACKOFF_H
#define ERGON_CLIENT_BACKOFF_H

#include <stdint.h>

/* Milliseconds before attempt number `attempt` (0: the first after a failure): min_ms doubled
 * `attempt` times, at most max_ms, of which the upper half is spread by `random` (any value), so
 * that many clients do not come back at once.  Never below min_ms / 2, never above max_ms. */
static inline uint32_t backoff_delay(uint32_t attempt, uint32_t min_ms, uint32_t max_ms,
                                     uint32_t random)
{
    uint64_t full = min_ms;
    for (uint32_t i = 0; i < attempt && full < max_ms; i++)
        full *= 2;
    if (full > max_ms)
        full = max_ms;
    uint64_t half = full / 2;
    return (uint32_t)(half + random % (full - half + 1));
}

#endif
