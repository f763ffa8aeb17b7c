#include "server/memory.h"

#include <unistd.h>

#include "server/cgroup.h"

/* What cannot be found out: a small machine. */
static const uint64_t UNKNOWN = 1u << 30;

static uint64_t in_file(const char *directory, const char *name)
{
    int64_t n;

    return cgroup_read_number(directory, name, &n) && n > 0 ? (uint64_t)n : 0; /* "max" is none */
}

static uint64_t in_v1(const char *directory)
{
    return in_file(directory, "memory.limit_in_bytes"); /* without a limit it says nearly 2^63 */
}

static uint64_t in_v2(const char *directory)
{
    return cgroup_tighter(in_file(directory, "memory.max"), in_file(directory, "memory.high"));
}

static uint64_t of_machine(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UNKNOWN;
}

uint64_t memory_usable(const char *root)
{
    static const char *const mounts[] = {"memory", NULL};
    static const struct cgroup_limit limit = {
        .controller = "memory", .mounts = mounts, .in_v1 = in_v1, .in_v2 = in_v2};

    return cgroup_tighter(of_machine(), cgroup_tightest(root, &limit));
}
