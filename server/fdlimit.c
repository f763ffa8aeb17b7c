#include "server/fdlimit.h"

#include <sys/resource.h>

/* Listeners, event loops, eventfds, modules, and some for what handlers open. */
enum { OWN_FILES = 64, UNLIMITED = 1 << 24 };

uint64_t fdlimit_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : soft;
}

uint32_t fdlimit_connections(uint64_t limit)
{
    if (limit > UNLIMITED)
        return UNLIMITED;
    return limit > 2 * OWN_FILES ? (uint32_t)limit - OWN_FILES : (uint32_t)(limit / 2);
}
