#include "tests/fuzz/fuzz_file.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

static void fill(const struct fuzz_file *f, struct span content)
{
    for (size_t at = 0; at < content.len;) {
        ssize_t n = pwrite(f->fd, content.at + at, content.len - at, (off_t)at);
        CHECK(n > 0);
        at += (size_t)n;
    }
}

void fuzz_file_open(struct fuzz_file *f, struct span content)
{
    f->fd = memfd_create("input", MFD_CLOEXEC);
    CHECK(f->fd >= 0);
    snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
    fill(f, content);
}

void fuzz_file_set(struct fuzz_file *f, struct span content)
{
    CHECK(ftruncate(f->fd, 0) == 0);
    fill(f, content);
}

void fuzz_file_close(struct fuzz_file *f)
{
    close(f->fd);
}
