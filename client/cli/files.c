#include "client/cli/files.h"

#include "client/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_FIRST = 64 * 1024 }; /* bytes of the first block */

static bool refuse(const char *path, int error)
{
    char text[96];
    complain("cannot read %s: %s", path, strerror_r(error, text, sizeof text));
    return false;
}

static bool grow(struct file_bytes *f, size_t *cap)
{
    if (f->len + 1 < *cap)
        return true;
    size_t wider = *cap == 0 ? FILE_FIRST : *cap * 2;
    uint8_t *at = realloc(f->at, wider);
    if (at == NULL)
        return false;
    f->at = at;
    *cap = wider;
    return true;
}

static bool read_all(int fd, const char *path, size_t max, struct file_bytes *f)
{
    size_t cap = 0;
    for (;;) {
        if (!grow(f, &cap))
            return refuse(path, ENOMEM);
        ssize_t n = read(fd, f->at + f->len, cap - f->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return refuse(path, errno);
        f->len += (size_t)n;
        f->at[f->len] = 0;
        if (f->len > max)
            return refuse(path, EFBIG);
        if (n == 0)
            return true;
    }
}

bool file_read(const char *path, size_t max, struct file_bytes *out)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *out = (struct file_bytes){0};
    if (fd < 0)
        return refuse(path, errno);
    bool good = read_all(fd, path, max, out);
    if (!standard)
        close(fd);
    if (!good)
        file_bytes_fini(out);
    return good;
}

void file_bytes_fini(struct file_bytes *f)
{
    free(f->at);
    *f = (struct file_bytes){0};
}
