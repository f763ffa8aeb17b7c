#include "server/store/sqlite/log_vfs.h"

#include <stdio.h>
#include <string.h>

/* The log; the file beneath follows it in memory. */
struct log_file {
    sqlite3_file base;
    struct log_vfs *vfs;
};
_Static_assert(sizeof(struct log_file) % _Alignof(max_align_t) == 0, "the file beneath follows");

static struct log_vfs *vfs_of(sqlite3_file *file)
{
    return ((struct log_file *)file)->vfs;
}

static sqlite3_file *beneath(sqlite3_file *file)
{
    return (sqlite3_file *)((struct log_file *)file + 1);
}

/* Bytes that cannot be written are forgotten, as the half of a failed write is: SQLite writes them
 * anew. */
static int hand_over(sqlite3_file *file)
{
    struct log_vfs *v = vfs_of(file);
    size_t len = v->len;
    v->len = 0;
    if (len == 0)
        return SQLITE_OK;
    v->written = true;
    return beneath(file)->pMethods->xWrite(beneath(file), v->bytes, (int)len, v->at);
}

static int file_write(sqlite3_file *file, const void *from, int amount, sqlite3_int64 offset)
{
    struct log_vfs *v = vfs_of(file);
    size_t len = (size_t)amount;
    if (offset != v->at + (sqlite3_int64)v->len || v->len + len > LOG_GATHERED) {
        int rc = hand_over(file);
        if (rc != SQLITE_OK)
            return rc;
        v->at = offset;
    }
    if (len > LOG_GATHERED) {
        v->written = true;
        return beneath(file)->pMethods->xWrite(beneath(file), from, amount, offset);
    }
    memcpy(v->bytes + v->len, from, len);
    v->len += len;
    return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *to, int amount, sqlite3_int64 offset)
{
    int rc = hand_over(file);
    return rc != SQLITE_OK ? rc : beneath(file)->pMethods->xRead(beneath(file), to, amount, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int rc = hand_over(file);
    vfs_of(file)->written = true;
    return rc != SQLITE_OK ? rc : beneath(file)->pMethods->xTruncate(beneath(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    struct log_vfs *v = vfs_of(file);
    int rc = hand_over(file);
    if (rc != SQLITE_OK || !v->written)
        return rc;
    rc = beneath(file)->pMethods->xSync(beneath(file), flags);
    v->written = rc != SQLITE_OK;
    return rc;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    int rc = hand_over(file);
    return rc != SQLITE_OK ? rc : beneath(file)->pMethods->xFileSize(beneath(file), size);
}

static int file_close(sqlite3_file *file)
{
    int written = hand_over(file);
    int closed = beneath(file)->pMethods->xClose(beneath(file));
    return written != SQLITE_OK ? written : closed;
}

/* --- Calls that touch no byte of it --- */

static int file_lock(sqlite3_file *file, int how)
{
    return beneath(file)->pMethods->xLock(beneath(file), how);
}

static int file_unlock(sqlite3_file *file, int how)
{
    return beneath(file)->pMethods->xUnlock(beneath(file), how);
}

static int file_reserved(sqlite3_file *file, int *result)
{
    return beneath(file)->pMethods->xCheckReservedLock(beneath(file), result);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return beneath(file)->pMethods->xFileControl(beneath(file), op, arg);
}

static int file_sector(sqlite3_file *file)
{
    return beneath(file)->pMethods->xSectorSize(beneath(file));
}

static int file_traits(sqlite3_file *file)
{
    return beneath(file)->pMethods->xDeviceCharacteristics(beneath(file));
}

/* Of version 1: a log is neither mapped nor shared memory. */
static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = file_close,
                                           .xRead = file_read,
                                           .xWrite = file_write,
                                           .xTruncate = file_truncate,
                                           .xSync = file_sync,
                                           .xFileSize = file_size,
                                           .xLock = file_lock,
                                           .xUnlock = file_unlock,
                                           .xCheckReservedLock = file_reserved,
                                           .xFileControl = file_control,
                                           .xSectorSize = file_sector,
                                           .xDeviceCharacteristics = file_traits};

/* --- The file system --- */

static int open_log(struct log_vfs *v, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct log_file *f = (struct log_file *)file;
    f->vfs = v;
    v->len = 0;
    v->written = true; /* perhaps by the process that had it before */
    int rc = v->below->xOpen(v->below, name, beneath(file), flags, out);
    f->base.pMethods = beneath(file)->pMethods ? &methods : NULL;
    return rc;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct log_vfs *v = (struct log_vfs *)vfs;
    if (flags & SQLITE_OPEN_WAL)
        return open_log(v, name, file, flags, out);
    return v->below->xOpen(v->below, name, file, flags, out);
}

/* All but xOpen is that of the one beneath, which finds its own data in the copy.  SQLite needs the
 * name until it has opened: nobody else is to find it. */
int log_vfs_open(struct log_vfs *v, const char *path, sqlite3 **db, int flags, const char *below)
{
    *db = NULL;
    v->below = sqlite3_vfs_find(below);
    if (!v->below)
        return SQLITE_ERROR;
    snprintf(v->name, sizeof v->name, "ergon-log-%p", (void *)v);
    v->vfs = *v->below;
    v->vfs.pNext = NULL;
    v->vfs.zName = v->name;
    v->vfs.szOsFile += (int)sizeof(struct log_file);
    v->vfs.xOpen = vfs_open;
    int rc = sqlite3_vfs_register(&v->vfs, 0);
    if (rc != SQLITE_OK)
        return rc;
    rc = sqlite3_open_v2(path, db, flags, v->name);
    sqlite3_vfs_unregister(&v->vfs);
    return rc;
}
