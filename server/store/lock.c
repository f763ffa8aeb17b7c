#include "server/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int in_use(long pid, char *error, size_t size)
{
    if (pid > 0)
        snprintf(error, size, "another server uses it: process %ld; stop that one first", pid);
    else
        snprintf(error, size, "another server uses it; stop that one first");
    return LOCK_IN_USE;
}

/* A lock file with a second name, as a backup by hard links leaves it, locks as well as any; but
 * its contents may belong to another program, and are neither read nor written. */
static bool is_own(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_nlink == 1;
}

static bool is_plain(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* The owner of the lock writes its process id into the file; it may have taken the lock just now
 * and not written it yet. */
static long holder(int fd)
{
    char text[24];
    ssize_t len = 0;
    if (is_own(fd))
        len = pread(fd, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    return strtol(text, NULL, 10);
}

static int tell(const char *path, char *error, size_t size)
{
    char text[64];
    snprintf(error, size, "cannot lock %s: %s", path, strerror_r(errno, text, sizeof text));
    return -1;
}

static int take(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole);
}

/* If the process id is not written, the message of a second server says less; nothing else depends
 * on it. */
static bool unsign(int fd)
{
    return is_own(fd) && ftruncate(fd, 0) == 0;
}

static bool sign(int fd)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    return unsign(fd) && pwrite(fd, text, (size_t)len, 0) == len;
}

static int refuse(const char *name, const char *why, char *error, size_t size)
{
    snprintf(error, size, "cannot lock %s: it %s", name, why);
    return -1;
}

static int take_beside(struct lock *lock, const char *path, char *error, size_t size)
{
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s.lock", path) >= sizeof name) {
        errno = ENAMETOOLONG;
        return tell(path, error, size);
    }
    /* What a link there points to is somebody else's, and would be emptied. */
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 && errno == ELOOP)
        return refuse(name, "is a symbolic link; remove it", error, size);
    if (fd < 0)
        return tell(name, error, size);
    if (!is_plain(fd)) {
        close(fd);
        return refuse(name, "is no plain file; remove it", error, size);
    }
    if (take(fd) == 0) {
        lock->beside = fd;
        return 0;
    }
    int why = errno == EAGAIN || errno == EACCES ? in_use(holder(fd), error, size)
                                                 : tell(name, error, size);
    close(fd);
    return why;
}

int lock_take(struct lock *lock, const char *path, int file, char *error, size_t size)
{
    *lock = (struct lock){.beside = -1, .file = file};
    int taken = take_beside(lock, path, error, size);
    if (taken != 0)
        return taken;
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? in_use(0, error, size) : tell(path, error, size);
    sign(lock->beside);
    return 0;
}

void lock_drop(struct lock *lock)
{
    if (lock->beside >= 0) {
        unsign(lock->beside);
        close(lock->beside);
    }
    if (lock->file >= 0)
        close(lock->file);
    *lock = (struct lock){-1, -1};
}
