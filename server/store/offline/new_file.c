#include "server/store/offline/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(char *error, size_t size)
{
    char text[64];
    snprintf(error, size, "%s", strerror_r(errno, text, sizeof text));
    return -1;
}

static bool is_there(const char *path, const char *ending)
{
    char name[NEW_FILE_PATH + 8];
    snprintf(name, sizeof name, "%s%s", path, ending);
    return access(name, F_OK) == 0;
}

int new_file_begin(struct new_file *f, const char *path, char *error, size_t size)
{
    *f = (struct new_file){.path = path, .lock = {-1, -1}};
    if ((size_t)snprintf(f->part, sizeof f->part, "%s.part", path) >= sizeof f->part) {
        errno = ENAMETOOLONG;
        return fail(error, size);
    }
    if (lock_take(&f->lock, path, -1, error, size) != 0)
        return -1;
    if (is_there(path, "") || is_there(path, "-wal")) {
        snprintf(error, size, "it is there, or its log (-wal) is; name a file that is not");
        return -1;
    }
    unlink(f->part);
    int fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, size);
    close(fd);
    f->begun = true;
    return 0;
}

static int sync_folder(const char *path)
{
    char folder[NEW_FILE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* A link, and no renaming: that would go over a file that has come in the meantime. */
int new_file_name(struct new_file *f, char *error, size_t size)
{
    if (link(f->part, f->path) != 0)
        return fail(error, size);
    f->begun = false;
    f->named = true;
    return unlink(f->part) == 0 && sync_folder(f->path) == 0 ? 0 : fail(error, size);
}

void new_file_end(struct new_file *f)
{
    char lock[NEW_FILE_PATH + 8];
    snprintf(lock, sizeof lock, "%s.lock", f->path ? f->path : "");
    if (f->begun)
        unlink(f->part);
    if (f->named)
        unlink(lock);
    lock_drop(&f->lock);
}
