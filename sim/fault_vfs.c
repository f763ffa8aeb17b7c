/* SQLite's side of the disk: its methods of files and of the file system. */
#include "sim/fault_vfs.h"

#include <assert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fault_disk.h"

/* What SQLite has open. */
struct handle {
    sqlite3_file base;
    struct disk_file *file;
    bool gone_at_close;
};

static bool fails_locked(void)
{
    pthread_mutex_lock(&disk.lock);
    bool failed = disk_fails();
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

static struct disk_file *file_of(sqlite3_file *h)
{
    return ((struct handle *)h)->file;
}

static int file_close(sqlite3_file *h)
{
    struct handle *handle = (struct handle *)h;
    pthread_mutex_lock(&disk.lock);
    if (handle->gone_at_close)
        disk_release(handle->file);
    pthread_mutex_unlock(&disk.lock);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *h, void *to, int amount, sqlite3_int64 offset)
{
    struct disk_file *f = file_of(h);
    size_t from = (size_t)offset, len = (size_t)amount;
    pthread_mutex_lock(&disk.lock);
    int rc = disk_fails() ? SQLITE_IOERR_READ : SQLITE_OK;
    if (rc == SQLITE_OK && from + len > f->now.size) {
        size_t there = from < f->now.size ? f->now.size - from : 0;
        memset((char *)to + there, 0, len - there);
        len = there;
        rc = SQLITE_IOERR_SHORT_READ;
    }
    if (rc != SQLITE_IOERR_READ && len > 0)
        memcpy(to, f->now.at + from, len);
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int write_fails(const struct disk_file *f, size_t end)
{
    if (disk_fails())
        return SQLITE_IOERR_WRITE;
    if (disk.read_only)
        return SQLITE_READONLY;
    return disk_no_room(f, end) ? SQLITE_FULL : SQLITE_OK;
}

static int file_write(sqlite3_file *h, const void *from, int amount, sqlite3_int64 offset)
{
    struct disk_file *f = file_of(h);
    size_t at = (size_t)offset, len = (size_t)amount;
    pthread_mutex_lock(&disk.lock);
    bool was_cut = disk.cut;
    int rc = write_fails(f, at + len);
    if (rc != SQLITE_OK)
        len /= 2;
    if (!was_cut && rc != SQLITE_READONLY) {
        disk_remember(f, at, from, len);
        bytes_put(&f->now, at, from, len);
    }
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int file_truncate(sqlite3_file *h, sqlite3_int64 size)
{
    struct disk_file *f = file_of(h);
    pthread_mutex_lock(&disk.lock);
    int rc = disk_fails() ? SQLITE_IOERR_TRUNCATE : disk.read_only ? SQLITE_READONLY : SQLITE_OK;
    if (rc == SQLITE_OK) {
        disk_remember(f, 0, NULL, (size_t)size);
        bytes_resize(&f->now, (size_t)size);
    }
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int file_sync(sqlite3_file *h, int flags)
{
    struct disk_file *f = file_of(h);
    int rc = SQLITE_OK;
    pthread_mutex_lock(&disk.lock);
    if (disk_fails() || disk_sync_fails()) {
        rc = SQLITE_IOERR_FSYNC;
        if (!disk.cut)
            disk_settle_by_chance(f, false);
    } else {
        for (struct pending *p = f->first; p; p = p->next)
            disk_settle(f, p);
        disk_forget_pending(f);
        f->there_synced = f->there;
    }
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int file_size(sqlite3_file *h, sqlite3_int64 *size)
{
    if (fails_locked())
        return SQLITE_IOERR_FSTAT;
    *size = (sqlite3_int64)file_of(h)->now.size;
    return SQLITE_OK;
}

/* One process has the file, with one connection: there is nobody to lock it against. */
static int file_lock(sqlite3_file *h, int how)
{
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *h, int *result)
{
    *result = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *h, int op, void *arg)
{
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *h)
{
    return 4096;
}

static int file_traits(sqlite3_file *h)
{
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int shm_map(sqlite3_file *h, int page, int size, int extend, void volatile **at)
{
    struct disk_file *f = file_of(h);
    *at = NULL;
    assert(page < SHM_REGIONS);
    if (fails_locked())
        return SQLITE_IOERR_SHMMAP;
    if (!f->shm[page] && extend)
        f->shm[page] = calloc(1, (size_t)size);
    *at = f->shm[page];
    return SQLITE_OK;
}

static int shm_lock(sqlite3_file *h, int offset, int n, int flags)
{
    return !(flags & SQLITE_SHM_UNLOCK) && fails_locked() ? SQLITE_IOERR_SHMLOCK : SQLITE_OK;
}

static void shm_barrier(sqlite3_file *h)
{
    __sync_synchronize();
}

static int shm_unmap(sqlite3_file *h, int delete)
{
    struct disk_file *f = file_of(h);
    for (int n = 0; n < SHM_REGIONS; n++) {
        free(f->shm[n]);
        f->shm[n] = NULL;
    }
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {.iVersion = 2,
                                           .xClose = file_close,
                                           .xRead = file_read,
                                           .xWrite = file_write,
                                           .xTruncate = file_truncate,
                                           .xSync = file_sync,
                                           .xFileSize = file_size,
                                           .xLock = file_lock,
                                           .xUnlock = file_lock,
                                           .xCheckReservedLock = file_reserved,
                                           .xFileControl = file_control,
                                           .xSectorSize = file_sector,
                                           .xDeviceCharacteristics = file_traits,
                                           .xShmMap = shm_map,
                                           .xShmLock = shm_lock,
                                           .xShmBarrier = shm_barrier,
                                           .xShmUnmap = shm_unmap};

/* --- The file system --- */

static int open_named(struct handle *h, const char *name, int flags)
{
    h->file = disk_find(name);
    if (h->file)
        return SQLITE_OK;
    if (!(flags & SQLITE_OPEN_CREATE) || disk.read_only)
        return SQLITE_CANTOPEN;
    h->file = disk_make(name);
    return SQLITE_OK;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct handle *h = (struct handle *)file;
    h->base.pMethods = NULL;
    h->gone_at_close = !name || (flags & SQLITE_OPEN_DELETEONCLOSE);
    pthread_mutex_lock(&disk.lock);
    int rc = disk_fails() ? SQLITE_CANTOPEN : SQLITE_OK;
    if (rc == SQLITE_OK && !name)
        h->file = disk_make("");
    else if (rc == SQLITE_OK)
        rc = open_named(h, name, flags);
    if (rc == SQLITE_OK)
        h->base.pMethods = &methods;
    if (out)
        *out = disk.read_only ? (flags & ~SQLITE_OPEN_READWRITE) | SQLITE_OPEN_READONLY : flags;
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

/* The name is gone at once; what a power cut finds is decided by chance unless the folder was
 * synced. */
static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    pthread_mutex_lock(&disk.lock);
    int rc = disk_fails() ? SQLITE_IOERR_DELETE : SQLITE_OK;
    struct disk_file *f = rc == SQLITE_OK ? disk_find(name) : NULL;
    if (f) {
        f->there = false;
        if (sync)
            f->there_synced = false;
        if (!f->there_synced)
            disk_release(f);
    }
    pthread_mutex_unlock(&disk.lock);
    return rc != SQLITE_OK || f ? rc : SQLITE_IOERR_DELETE_NOENT;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    pthread_mutex_lock(&disk.lock);
    int rc = disk_fails() ? SQLITE_IOERR_ACCESS : SQLITE_OK;
    struct disk_file *f = disk_find(name);
    *result = f && f->now.size > 0;
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    strncpy(out, name, (size_t)size - 1);
    out[size - 1] = '\0';
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    pthread_mutex_lock(&disk.lock);
    for (int n = 0; n < size; n++)
        out[n] = (char)disk_chance();
    pthread_mutex_unlock(&disk.lock);
    return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *julian)
{
    *julian = 2460000.5;
    return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *out)
{
    pthread_mutex_lock(&disk.lock);
    int number = disk.number;
    pthread_mutex_unlock(&disk.lock);
    return number;
}

static sqlite3_vfs vfs = {.iVersion = 1,
                          .szOsFile = sizeof(struct handle),
                          .mxPathname = FILE_NAME_SIZE,
                          .zName = FAULT_VFS,
                          .xOpen = vfs_open,
                          .xDelete = vfs_delete,
                          .xAccess = vfs_access,
                          .xFullPathname = vfs_path,
                          .xRandomness = vfs_randomness,
                          .xSleep = vfs_sleep,
                          .xCurrentTime = vfs_time,
                          .xGetLastError = vfs_error};

/* --- Open and closed --- */

void fault_open(uint64_t seed)
{
    fault_heal();
    disk.random = seed * 2 + 1;
    disk.calls = 0;
    int rc = sqlite3_vfs_register(&vfs, 0);
    assert(rc == SQLITE_OK);
    (void)rc;
}

void fault_close(void)
{
    sqlite3_vfs_unregister(&vfs);
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used)
            disk_release(&disk.files[n]);
}
