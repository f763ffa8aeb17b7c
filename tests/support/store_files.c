#include "tests/support/store_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"

static const char *const endings[STORE_PARTS] = {[STORE_FILE] = "", [STORE_LOG] = "-wal"};

enum { NAME = 256 };

static const char *name_of(char name[static NAME], const char *path, const char *ending)
{
    snprintf(name, NAME, "%s%s", path, ending);
    return name;
}

static void read_part(struct store_part *part, const char *name)
{
    struct stat st;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    *part = (struct store_part){.there = fd >= 0};
    if (fd < 0)
        return;
    assert_int_equal(fstat(fd, &st), 0);
    part->len = (size_t)st.st_size;
    part->at = malloc(part->len + 1);
    assert_non_null(part->at);
    assert_int_equal(pread(fd, part->at, part->len, 0), part->len);
    close(fd);
}

void store_files_read(struct store_files *files, const char *path)
{
    char name[NAME];
    for (int n = 0; n < STORE_PARTS; n++)
        read_part(&files->part[n], name_of(name, path, endings[n]));
}

static void write_part(const struct store_part *part, const char *name)
{
    if (!part->there) {
        assert_true(unlink(name) == 0 || errno == ENOENT);
        return;
    }
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, part->at, part->len, 0), part->len);
    close(fd);
}

void store_files_write(const struct store_files *files, const char *path)
{
    char name[NAME];
    unlink(name_of(name, path, "-shm"));
    for (int n = 0; n < STORE_PARTS; n++)
        write_part(&files->part[n], name_of(name, path, endings[n]));
}

bool store_files_equal(const struct store_files *a, const struct store_files *b)
{
    bool same = true;
    for (int n = 0; n < STORE_PARTS; n++) {
        const struct store_part *x = &a->part[n], *y = &b->part[n];
        same = same && (x->there == y->there || n == STORE_LOG) && x->len == y->len &&
               (x->len == 0 || memcmp(x->at, y->at, x->len) == 0);
    }
    return same;
}

struct store_files store_files_copy(const struct store_files *files)
{
    struct store_files copy = *files;
    for (int n = 0; n < STORE_PARTS; n++) {
        copy.part[n].at = malloc(files->part[n].len + 1);
        assert_non_null(copy.part[n].at);
        if (files->part[n].len > 0)
            memcpy(copy.part[n].at, files->part[n].at, files->part[n].len);
    }
    return copy;
}

void store_files_free(struct store_files *files)
{
    for (int n = 0; n < STORE_PARTS; n++)
        free(files->part[n].at);
    *files = (struct store_files){0};
}
