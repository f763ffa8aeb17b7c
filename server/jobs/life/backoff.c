#include "server/jobs/life/backoff.h"

#include <string.h>

static ao_time doubled(ao_time backoff, ao_time max, uint32_t times)
{
    for (; times > 0 && backoff > 0 && backoff < max; times--)
        backoff = backoff > max / 2 ? max : backoff * 2;
    return backoff < max ? backoff : max;
}

ao_time backoff_wait(ao_time backoff, ao_time max, uint8_t jitter, uint32_t n, uint64_t random)
{
    ao_time wait = doubled(backoff, max, n > 0 ? n - 1 : 0);
    ao_time chance = wait / 100 * jitter + wait % 100 * jitter / 100;
    return chance == 0 ? wait : wait - random % chance;
}

bool backoff_is_permanent(const char *code)
{
    static const char *const permanent[] = {"NO_METHOD", "BAD_PARAMS", "TOO_LARGE",
                                            "TOO_DEEP",  "DENIED",     "NO_EXECUTOR"};
    if (!code)
        return false;
    for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
        if (strcmp(code, permanent[i]) == 0)
            return true;
    return strncmp(code, "PERMANENT", strlen("PERMANENT")) == 0;
}
