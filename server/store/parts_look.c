#include "server/store/parts_look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/log.h"
#include "server/store/store_parts.h"

static const char *const suffixes[STORE_PARTS] = {"", "-wal", "-shm"};
static const char truncated[] = "a file of the store was truncated by another process";

/* Asks for no time of the file: one whose time was read gets a new one with its next write, which
 * the sync would have to write, too. */
static int look(const struct store *s, unsigned part, struct statx *out)
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
static uint64_t least_size(const struct store *s, unsigned part)
{
    if (part == STORE_PARTS - 1)
        return s->index_size == 0 && s->log_size > 0 ? INDEX_STEP : s->index_size;
    return part == 0 ? s->file_size : s->log_size;
}

/* SQLite makes a part when it needs it. */
static int look_at(struct store *s, unsigned part)
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
    log_error(truncated, LOG_STR("store", s->path), LOG_STR("part", suffixes[part]),
              LOG_UINT("bytes", st.stx_size), LOG_UINT("expected", least));
    return SQLITE_CORRUPT;
}

/* The handler of SIGBUS has seen to it (running.c), and cannot write to the log. */
static void tell_of_running(struct store *s)
{
    if (!atomic_load_explicit(&s->running_cut, memory_order_relaxed))
        return;
    atomic_store_explicit(&s->running_cut, false, memory_order_relaxed);
    log_error(truncated, LOG_STR("store", s->path), LOG_STR("part", "-running"),
              LOG_STR("effect", "after a crash, the next start cannot tell which tasks ran"));
}

int parts_look(struct store *s)
{
    int rc = SQLITE_OK;
    bool is_of_system = s->lock.file >= 0;
    tell_of_running(s);
    for (unsigned part = 0; is_of_system && part < STORE_PARTS && rc == SQLITE_OK; part++)
        rc = look_at(s, part);
    return rc;
}
