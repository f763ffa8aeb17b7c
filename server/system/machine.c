#include "server/system/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- control groups ---- */

enum { CGROUP_LINE = 4096 };

/* A kind of limit, and the functions that read it in the directory of a group; they return 0 if
 * there is no limit. */
struct cgroup_limit {
    const char *controller;    /* its name in version 1 */
    const char *const *mounts; /* possible mount points below sys/fs/cgroup; ends with NULL */
    uint64_t (*in_v1)(const char *directory);
    uint64_t (*in_v2)(const char *directory);
};

/* The smaller of two limits; 0 means no limit. */
static uint64_t cgroup_tighter(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

/* Reads the first line of a file.  False: it cannot be read. */
static bool cgroup_read_line(const char *directory, const char *name, char line[CGROUP_LINE])
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= PATH_MAX)
        return false;
    FILE *in = fopen(path, "re");
    bool good = in && fgets(line, CGROUP_LINE, in) != NULL;
    if (in)
        fclose(in);
    return good;
}

static bool cgroup_read_number(const char *directory, const char *name, int64_t *n)
{
    char line[CGROUP_LINE];

    return cgroup_read_line(directory, name, line) && sscanf(line, "%" SCNd64, n) == 1;
}

/* The tightest limit of the group and its parents up to `mount`.  Inside a container the kernel may
 * report the path on the host, of which nothing exists below `mount`: then the mount itself is the
 * group. */
static uint64_t upwards(const char *mount, const char *group, uint64_t (*in)(const char *directory))
{
    char path[PATH_MAX];
    size_t base = strlen(mount);
    uint64_t least = 0;

    if (snprintf(path, sizeof path, "%s%s", mount, group) >= PATH_MAX)
        return in(mount);
    for (;;) {
        least = cgroup_tighter(least, in(path));
        char *slash = strrchr(path + base, '/');
        if (!slash)
            return least;
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
static uint64_t of_line(const char *root, char *line, const struct cgroup_limit *limit)
{
    char mount[PATH_MAX];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    uint64_t least = 0;

    if (!group)
        return 0;
    controllers++;
    size_t length = (size_t)(group++ - controllers);
    group[strcspn(group, "\n")] = '\0';
    if (length == 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return upwards(mount, group, limit->in_v2);
    }
    if (!has_controller(controllers, length, limit->controller))
        return 0;
    for (const char *const *m = limit->mounts; *m; m++) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, *m);
        least = cgroup_tighter(least, upwards(mount, group, limit->in_v1));
    }
    return least;
}

/* The limit of the groups that /proc/self/cgroup below `root` names ("" for the real one): the
 * tightest of a group and its parents.  0: there is no limit. */
static uint64_t cgroup_tightest(const char *root, const struct cgroup_limit *limit)
{
    char path[PATH_MAX], line[CGROUP_LINE];
    uint64_t least = 0;

    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= PATH_MAX)
        return 0;
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    while (fgets(line, sizeof line, in))
        least = cgroup_tighter(least, of_line(root, line, limit));
    fclose(in);
    return least;
}

/* ---- processors ---- */

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
        return 0; /* "max 100000", or an unknown form */
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

/* ---- memory ---- */

/* Assumed if the memory is unknown: a small machine. */
static const uint64_t UNKNOWN = 1u << 30;

static uint64_t in_file(const char *directory, const char *name)
{
    int64_t n;

    return cgroup_read_number(directory, name, &n) && n > 0 ? (uint64_t)n : 0; /* "max": no limit */
}

static uint64_t memory_in_v1(const char *directory)
{
    return in_file(directory, "memory.limit_in_bytes"); /* nearly 2^63 if there is no limit */
}

static uint64_t memory_in_v2(const char *directory)
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
        .controller = "memory", .mounts = mounts, .in_v1 = memory_in_v1, .in_v2 = memory_in_v2};

    return cgroup_tighter(of_machine(), cgroup_tightest(root, &limit));
}

/* ---- open files ---- */

/* Files kept back for listeners, event loops, eventfds and modules, and some for handlers. */
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
