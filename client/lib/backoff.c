#include "client/lib/backoff.h"

uint32_t backoff_delay(uint32_t attempt, uint32_t min_ms, uint32_t max_ms, uint32_t random)
{
    uint64_t full = min_ms;
    for (uint32_t i = 0; i < attempt && full < max_ms; i++)
        full *= 2;
    if (full > max_ms)
        full = max_ms;
    uint64_t half = full / 2;
    return (uint32_t)(half + random % (full - half + 1));
}
