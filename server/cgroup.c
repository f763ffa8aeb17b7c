#include "server/cgroup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

bool cgroup_read_line(const char *directory, const char *name, char line[CGROUP_LINE])
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

bool cgroup_read_number(const char *directory, const char *name, int64_t *n)
{
    char line[CGROUP_LINE];

    return cgroup_read_line(directory, name, line) && sscanf(line, "%" SCNd64, n) == 1;
}

/* The group and each of its parents up to `mount`.  Inside a container the path that the kernel
 * names may be that of the host, with nothing below `mount`: then the mount itself is the group. */
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

uint64_t cgroup_tightest(const char *root, const struct cgroup_limit *limit)
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
