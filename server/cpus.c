#include "server/cpus.h"

#include <inttypes.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/cgroup.h"

enum { CORES_MAX = 4096 };

static unsigned whole_processors(int64_t quota, int64_t period)
{
    int64_t whole;

    if (quota <= 0 || period <= 0)
        return 0;
    whole = quota / period + (quota % period != 0);
    return whole > CORES_MAX ? CORES_MAX : (unsigned)whole;
}

unsigned cpus_quota_v1(int64_t quota_us, int64_t period_us)
{
    return whole_processors(quota_us, period_us);
}

unsigned cpus_quota_v2(const char *max)
{
    int64_t quota, period;

    if (sscanf(max, "%" SCNd64 " %" SCNd64, &quota, &period) != 2)
        return 0; /* "max 100000", or nothing that we know */
    return whole_processors(quota, period);
}

static uint64_t quota_in_v1(const char *directory)
{
    int64_t quota, period;

    if (!cgroup_read_number(directory, "cpu.cfs_quota_us", &quota) ||
        !cgroup_read_number(directory, "cpu.cfs_period_us", &period))
        return 0;
    return cpus_quota_v1(quota, period);
}

static uint64_t quota_in_v2(const char *directory)
{
    char line[CGROUP_LINE];

    return cgroup_read_line(directory, "cpu.max", line) ? cpus_quota_v2(line) : 0;
}

unsigned cpus_quota(const char *root)
{
    static const char *const mounts[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu", NULL};
    static const struct cgroup_limit limit = {
        .controller = "cpu", .mounts = mounts, .in_v1 = quota_in_v1, .in_v2 = quota_in_v2};

    return (unsigned)cgroup_tightest(root, &limit);
}

static unsigned affinity(void)
{
    cpu_set_t *set = CPU_ALLOC(CORES_MAX);
    size_t size = CPU_ALLOC_SIZE(CORES_MAX);
    int count = 0;

    if (!set)
        return 0;
    if (sched_getaffinity(0, size, set) == 0)
        count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return (unsigned)count;
}

unsigned cpus_count(void)
{
    unsigned count = (unsigned)cgroup_tighter(affinity(), cpus_quota(""));

    return count > 0 ? count : 1;
}

bool cpus_spare(unsigned threads)
{
    return affinity() >= threads && cpus_quota("") == 0;
}
