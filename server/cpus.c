#include "server/cpus.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MAX = 4096, LINE_SIZE = 4096 };

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

/* 0 stands for no quota. */
static unsigned tighter(unsigned a, unsigned b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

static bool read_first_line(const char *path, char *line)
{
    FILE *in = fopen(path, "re");
    bool good = in && fgets(line, LINE_SIZE, in) != NULL;

    if (in)
        fclose(in);
    return good;
}

static bool read_number(const char *directory, const char *name, int64_t *n)
{
    char path[PATH_MAX], line[LINE_SIZE];

    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= PATH_MAX)
        return false;
    return read_first_line(path, line) && sscanf(line, "%" SCNd64, n) == 1;
}

static unsigned quota_in_v1(const char *directory)
{
    int64_t quota, period;

    if (!read_number(directory, "cpu.cfs_quota_us", &quota) ||
        !read_number(directory, "cpu.cfs_period_us", &period))
        return 0;
    return cpus_quota_v1(quota, period);
}

static unsigned quota_in_v2(const char *directory)
{
    char path[PATH_MAX], line[LINE_SIZE];

    if (snprintf(path, sizeof path, "%s/cpu.max", directory) >= PATH_MAX)
        return 0;
    return read_first_line(path, line) ? cpus_quota_v2(line) : 0;
}

/* The group and each of its parents up to `mount`.  Inside a container the path that the kernel
 * names may be that of the host, with nothing below `mount`: then the mount itself is the group. */
static unsigned quota_upwards(const char *mount, const char *group,
                              unsigned (*quota_in)(const char *directory))
{
    char path[PATH_MAX];
    size_t base = strlen(mount);
    unsigned quota = 0;

    if (snprintf(path, sizeof path, "%s%s", mount, group) >= PATH_MAX)
        return quota_in(mount);
    for (;;) {
        quota = tighter(quota, quota_in(path));
        char *slash = strrchr(path + base, '/');
        if (!slash)
            return quota;
        *slash = '\0';
    }
}

static bool has_controller(const char *list, size_t length, const char *name)
{
    size_t want = strlen(name);

    for (size_t at = 0; at <= length;) {
        size_t n = strcspn(list + at, ",:");
        if (n == want && strncmp(list + at, name, n) == 0)
            return true;
        at += n + 1;
    }
    return false;
}

/* A line of /proc/self/cgroup: "0::/group" (version 2), "4:cpu,cpuacct:/group" (version 1). */
static unsigned quota_of_line(const char *root, char *line)
{
    static const char *const mounts[] = {"cpu", "cpu,cpuacct", "cpuacct,cpu"};
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    unsigned quota = 0;

    if (!group)
        return 0;
    controllers++;
    size_t length = (size_t)(group++ - controllers);
    group[strcspn(group, "\n")] = '\0';
    if (length == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return quota_upwards(mount, group, quota_in_v2);
    }
    if (!has_controller(controllers, length, "cpu"))
        return 0;
    for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, mounts[i]);
        quota = tighter(quota, quota_upwards(mount, group, quota_in_v1));
    }
    return quota;
}

unsigned cpus_quota(const char *root)
{
    char path[PATH_MAX], line[LINE_SIZE];
    unsigned quota = 0;
    FILE *in;

    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= PATH_MAX)
        return 0;
    in = fopen(path, "re");
    if (!in)
        return 0;
    while (fgets(line, sizeof line, in))
        quota = tighter(quota, quota_of_line(root, line));
    fclose(in);
    return quota;
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
    unsigned count = tighter(affinity(), cpus_quota(""));

    return count > 0 ? count : 1;
}

bool cpus_spare(unsigned threads)
{
    return affinity() >= threads && cpus_quota("") == 0;
}
