#include "server/store/sqlite/backup_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static bool name_of(const char *store, char path[static PATH_MAX])
{
    errno = ENAMETOOLONG;
    return snprintf(path, PATH_MAX, "%s-backup", store) < PATH_MAX;
}

uint64_t backup_mark_read(const char *store)
{
    char path[PATH_MAX];
    struct stat mark;

    if (!name_of(store, path) || lstat(path, &mark) != 0 || mark.st_mtim.tv_sec < 0)
        return 0;
    return (uint64_t)mark.st_mtim.tv_sec * 1000 + (uint64_t)mark.st_mtim.tv_nsec / 1000000;
}

/* Of root's backups, too, so that the server's user can set it the next time. */
static void give_to_owner(int fd, const char *store)
{
    struct stat file;

    if (geteuid() == 0 && stat(store, &file) == 0 && fchown(fd, file.st_uid, file.st_gid) != 0)
        return; /* it stays root's, and is as good */
}

bool backup_mark_set(const char *store, uint64_t at)
{
    const struct timespec times[] = {clock_spec(at), clock_spec(at)};
    char path[PATH_MAX];

    if (!name_of(store, path))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    give_to_owner(fd, store);
    bool good = futimens(fd, times) == 0;
    int saved = errno;
    close(fd);
    errno = saved;
    return good;
}
