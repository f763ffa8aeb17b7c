#include "server/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who has it wrote its process id; it may have taken the lock just now and not written yet. */
static void tell_who(int fd, char *error, size_t size)
{
    char text[24];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    long pid = strtol(text, NULL, 10);
    if (pid > 0)
        snprintf(error, size, "another server uses it: process %ld; stop that one first", pid);
    else
        snprintf(error, size, "another server uses it; stop that one first");
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

/* What cannot be written only makes the text poorer that who comes second is told. */
static bool unsign(int fd)
{
    return ftruncate(fd, 0) == 0;
}

static bool sign(int fd)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    return unsign(fd) && pwrite(fd, text, (size_t)len, 0) == len;
}

int lock_take(const char *path, char *error, size_t size)
{
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s.lock", path) >= sizeof name) {
        errno = ENAMETOOLONG;
        return tell(path, error, size);
    }
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return tell(name, error, size);
    if (take(fd) == 0) {
        sign(fd);
        return fd;
    }
    if (errno == EAGAIN || errno == EACCES)
        tell_who(fd, error, size);
    else
        tell(name, error, size);
    close(fd);
    return -1;
}

void lock_drop(int fd)
{
    if (fd < 0)
        return;
    unsign(fd);
    close(fd);
}
