/* Limits of the control groups that this process is in, version 1 or 2.  Any thread; it reads
 * files, so it is asked at the start. */
#ifndef ERGON_CGROUP_H
#define ERGON_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* One kind of limit, and how it is read in the directory of a group; 0: there is none. */
struct cgroup_limit {
    const char *controller;    /* of version 1 */
    const char *const *mounts; /* where it may be mounted, below sys/fs/cgroup; ends with NULL */
    uint64_t (*in_v1)(const char *directory);
    uint64_t (*in_v2)(const char *directory);
};

/* Of the groups that /proc/self/cgroup below `root` names ("" for the real one): the tightest of a
 * group and its parents counts.  0: no limit. */
uint64_t cgroup_tightest(const char *root, const struct cgroup_limit *limit);

/* The first line of a file; false: it cannot be read. */
enum { CGROUP_LINE = 4096 };
bool cgroup_read_line(const char *directory, const char *name, char line[CGROUP_LINE]);
bool cgroup_read_number(const char *directory, const char *name, int64_t *n);

/* The smaller of two limits, of which 0 is none. */
static inline uint64_t cgroup_tighter(uint64_t a, uint64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

#endif
