#include "server/store/sqlite/parts_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"
#include "server/store/sqlite/sqlite_parts.h"

static const char *const suffixes[STORE_PARTS] = {"", "-wal", "-shm"};

/* Asks for no time of the file: one whose time was read gets a new one with its next write, which
 * the sync would have to write, too. */
static int look(const struct sqlite_store *s, unsigned part, struct statx *out)
{
    char name[4096];
    if ((size_t)snprintf(name, sizeof name, "%s%s", s->path, suffixes[part]) >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return statx(AT_FDCWD, name, 0, STATX_SIZE | STATX_INO, out);
}

static struct store_part part_of(const struct statx *st)
{
    return (struct store_part){
        .device_major = st->stx_dev_major, .device_minor = st->stx_dev_minor, .inode = st->stx_ino};
}

static bool is_same(const struct store_part *a, const struct store_part *b)
{
    return a->inode == b->inode && a->device_major == b->device_major &&
           a->device_minor == b->device_minor;
}

enum { INDEX_STEP = 32 * 1024 /* bytes: SQLite makes the index larger in such steps */ };

/* The index exists once something was written, and never becomes smaller. */
static uint64_t least_size(const struct sqlite_store *s, unsigned part)
{
    if (part == STORE_PARTS - 1)
        return s->index_size == 0 && s->log_size > 0 ? INDEX_STEP : s->index_size;
    return part == 0 ? s->file_size : s->log_size;
}

/* SQLite makes a part when it needs it. */
static int look_at(struct sqlite_store *s, unsigned part)
{
    struct statx st;
    struct store_part *known = &s->parts[part];
    uint64_t least = least_size(s, part);
    if (look(s, part, &st) != 0)
        return errno == ENOENT && least > 0 ? SQLITE_READONLY_DBMOVED : SQLITE_OK;
    const struct store_part found = part_of(&st);
    if (!known->inode)
        *known = found;
    if (!is_same(known, &found))
        return SQLITE_READONLY_DBMOVED;
    if (part == STORE_PARTS - 1 && st.stx_size > least)
        s->index_size = st.stx_size;
    if (st.stx_size >= least)
        return SQLITE_OK;
    log_error("a file of the store was truncated by another process", LOG_STR("store", s->path),
              LOG_STR("part", suffixes[part]), LOG_UINT("bytes", st.stx_size),
              LOG_UINT("expected", least));
    return SQLITE_CORRUPT;
}

int parts_look(struct sqlite_store *s)
{
    int rc = SQLITE_OK;
    bool is_of_system = s->lock.file >= 0;
    for (unsigned part = 0; is_of_system && part < STORE_PARTS && rc == SQLITE_OK; part++)
        rc = look_at(s, part);
    return rc;
}
