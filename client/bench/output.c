#include "client/bench/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool cannot_write(const char *path, char *why, size_t why_size)
{
    char text[96];
    snprintf(why, why_size, "cannot write %s: %s", path, strerror_r(errno, text, sizeof text));
    return false;
}

bool output_check(const char *path, char *why, size_t why_size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return (errno == EEXIST && access(path, W_OK) == 0) || cannot_write(path, why, why_size);
    close(fd);
    unlink(path); /* there is no empty file where there is no result */
    return true;
}

bool output_write(const char *path, void (*print)(FILE *out, const void *what), const void *what,
                  char *why, size_t why_size)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return cannot_write(path, why, why_size);
    print(out, what);
    bool good = ferror(out) == 0;
    good = fclose(out) == 0 && good;
    return good || cannot_write(path, why, why_size);
}
