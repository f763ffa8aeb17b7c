#include "tests/support/fault_vfs.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 8, FILE_NAME_SIZE = 128, SHM_REGIONS = 8, SECTOR = 512 };

struct bytes {
    uint8_t *at;
    size_t size, room;
};

/* A write, or a truncation (data NULL), that was not synced. */
struct pending {
    struct pending *next;
    size_t offset, len;
    uint8_t *data;
};

struct disk_file {
    char name[FILE_NAME_SIZE]; /* empty: a temporary one */
    bool there;                /* a name leads to it */
    bool there_synced;         /* and will after a power cut */
    struct bytes now, synced;
    struct pending *first, *last;
    void *shm[SHM_REGIONS];
    bool used;
};

/* What SQLite has open. */
struct handle {
    sqlite3_file base;
    struct disk_file *file;
    bool gone_at_close;
};

static struct {
    pthread_mutex_t lock;
    struct disk_file files[FILES_MAX];
    uint64_t random;
    uint64_t calls, fail_at, fail_times, sync_at, cut_at;
    uint64_t limit;
    bool failed, cut, read_only;
    int number; /* errno */
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* xorshift64*. */
static uint64_t chance(void)
{
    disk.random ^= disk.random >> 12;
    disk.random ^= disk.random << 25;
    disk.random ^= disk.random >> 27;
    return disk.random * 2685821657736338717u;
}

static bool one_in(uint64_t n)
{
    return (chance() >> 33) % n == 0;
}

/* --- Bytes --- */

static void resize(struct bytes *b, size_t size)
{
    if (size > b->room) {
        b->room = size * 2;
        b->at = realloc(b->at, b->room);
        assert(b->at);
    }
    if (size > b->size)
        memset(b->at + b->size, 0, size - b->size);
    b->size = size;
}

static void put(struct bytes *b, size_t offset, const void *data, size_t len)
{
    if (offset + len > b->size)
        resize(b, offset + len);
    if (len > 0)
        memcpy(b->at + offset, data, len);
}

static void forget_pending(struct disk_file *f)
{
    while (f->first) {
        struct pending *p = f->first;
        f->first = p->next;
        free(p->data);
        free(p);
    }
    f->last = NULL;
}

static void remember(struct disk_file *f, size_t offset, const void *data, size_t len)
{
    struct pending *p = calloc(1, sizeof *p);
    assert(p);
    *p = (struct pending){.offset = offset, .len = len};
    if (data) {
        p->data = malloc(len ? len : 1);
        assert(p->data);
        memcpy(p->data, data, len);
    }
    if (f->last)
        f->last->next = p;
    else
        f->first = p;
    f->last = p;
}

/* A sector of a write is there, is not, or, where the power failed in its middle, is anything. */
static void put_torn(struct bytes *b, const struct pending *p, bool garble)
{
    for (size_t at = 0; at < p->len;) {
        size_t len = SECTOR - (p->offset + at) % SECTOR;
        if (len > p->len - at)
            len = p->len - at;
        if (garble && one_in(16))
            for (size_t n = 0; n < len; n++)
                p->data[at + n] = (uint8_t)chance();
        if (!one_in(2))
            put(b, p->offset + at, p->data + at, len);
        at += len;
    }
}

static void settle(struct disk_file *f, const struct pending *p)
{
    if (p->data)
        put(&f->synced, p->offset, p->data, p->len);
    else
        resize(&f->synced, p->len);
}

/* What was not synced: all of it survives, none, or of each the whole, a part, or nothing. */
static void settle_by_chance(struct disk_file *f, bool garble)
{
    bool all = one_in(4), none = one_in(4);
    for (struct pending *p = f->first; p && (all || !none); p = p->next)
        if (all || one_in(3))
            settle(f, p);
        else if (p->data && one_in(2))
            put_torn(&f->synced, p, garble);
    forget_pending(f);
}

/* --- What fails --- */

/* Under the lock, at the start of every call that can fail. */
static bool fails(void)
{
    if (disk.cut)
        return true;
    disk.calls++;
    if (disk.cut_at && disk.calls >= disk.cut_at)
        return disk.cut = true;
    if (!disk.fail_at || disk.calls < disk.fail_at || disk.calls >= disk.fail_at + disk.fail_times)
        return false;
    return disk.failed = true;
}

static bool fails_locked(void)
{
    pthread_mutex_lock(&disk.lock);
    bool failed = fails();
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

/* --- Files --- */

static struct disk_file *find(const char *name)
{
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used && disk.files[n].there && strcmp(disk.files[n].name, name) == 0)
            return &disk.files[n];
    return NULL;
}

static void release(struct disk_file *f)
{
    forget_pending(f);
    free(f->now.at);
    free(f->synced.at);
    for (int n = 0; n < SHM_REGIONS; n++)
        free(f->shm[n]);
    *f = (struct disk_file){0};
}

/* One that was deleted under that name is gone for good. */
static struct disk_file *make(const char *name)
{
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used && !disk.files[n].there && strcmp(disk.files[n].name, name) == 0)
            release(&disk.files[n]);
    struct disk_file *f = disk.files;
    while (f->used)
        f++;
    assert(f < disk.files + FILES_MAX);
    *f = (struct disk_file){.used = true, .there = true};
    strncpy(f->name, name, sizeof f->name - 1);
    return f;
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
        release(handle->file);
    pthread_mutex_unlock(&disk.lock);
    return SQLITE_OK;
}

static int file_read(sqlite3_file *h, void *to, int amount, sqlite3_int64 offset)
{
    struct disk_file *f = file_of(h);
    size_t from = (size_t)offset, len = (size_t)amount;
    pthread_mutex_lock(&disk.lock);
    int rc = fails() ? SQLITE_IOERR_READ : SQLITE_OK;
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

static uint64_t used(void)
{
    uint64_t sum = 0;
    for (int n = 0; n < FILES_MAX; n++)
        sum += disk.files[n].now.size;
    return sum;
}

static bool no_room(const struct disk_file *f, size_t end)
{
    return disk.limit && end > f->now.size && used() + (end - f->now.size) > disk.limit;
}

static int write_fails(const struct disk_file *f, size_t end)
{
    if (fails())
        return SQLITE_IOERR_WRITE;
    if (disk.read_only)
        return SQLITE_READONLY;
    return no_room(f, end) ? SQLITE_FULL : SQLITE_OK;
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
        remember(f, at, from, len);
        put(&f->now, at, from, len);
    }
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int file_truncate(sqlite3_file *h, sqlite3_int64 size)
{
    struct disk_file *f = file_of(h);
    pthread_mutex_lock(&disk.lock);
    int rc = fails() ? SQLITE_IOERR_TRUNCATE : disk.read_only ? SQLITE_READONLY : SQLITE_OK;
    if (rc == SQLITE_OK) {
        remember(f, 0, NULL, (size_t)size);
        resize(&f->now, (size_t)size);
    }
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static bool sync_fails(void)
{
    if (disk.sync_at && --disk.sync_at == 0)
        return disk.failed = true;
    return false;
}

static int file_sync(sqlite3_file *h, int flags)
{
    (void)flags;
    struct disk_file *f = file_of(h);
    int rc = SQLITE_OK;
    pthread_mutex_lock(&disk.lock);
    if (fails() || sync_fails()) {
        rc = SQLITE_IOERR_FSYNC;
        if (!disk.cut)
            settle_by_chance(f, false);
    } else {
        for (struct pending *p = f->first; p; p = p->next)
            settle(f, p);
        forget_pending(f);
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
    (void)h;
    (void)how;
    return SQLITE_OK;
}

static int file_reserved(sqlite3_file *h, int *result)
{
    (void)h;
    *result = 0;
    return SQLITE_OK;
}

static int file_control(sqlite3_file *h, int op, void *arg)
{
    (void)h;
    (void)op;
    (void)arg;
    return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *h)
{
    (void)h;
    return 4096;
}

static int file_traits(sqlite3_file *h)
{
    (void)h;
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
    (void)h;
    (void)offset;
    (void)n;
    return !(flags & SQLITE_SHM_UNLOCK) && fails_locked() ? SQLITE_IOERR_SHMLOCK : SQLITE_OK;
}

static void shm_barrier(sqlite3_file *h)
{
    (void)h;
    __sync_synchronize();
}

static int shm_unmap(sqlite3_file *h, int delete)
{
    struct disk_file *f = file_of(h);
    (void)delete;
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
    h->file = find(name);
    if (h->file)
        return SQLITE_OK;
    if (!(flags & SQLITE_OPEN_CREATE) || disk.read_only)
        return SQLITE_CANTOPEN;
    h->file = make(name);
    return SQLITE_OK;
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    struct handle *h = (struct handle *)file;
    (void)vfs;
    h->base.pMethods = NULL;
    h->gone_at_close = !name || (flags & SQLITE_OPEN_DELETEONCLOSE);
    pthread_mutex_lock(&disk.lock);
    int rc = fails() ? SQLITE_CANTOPEN : SQLITE_OK;
    if (rc == SQLITE_OK && !name)
        h->file = make("");
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
    (void)vfs;
    pthread_mutex_lock(&disk.lock);
    int rc = fails() ? SQLITE_IOERR_DELETE : SQLITE_OK;
    struct disk_file *f = rc == SQLITE_OK ? find(name) : NULL;
    if (f) {
        f->there = false;
        if (sync)
            f->there_synced = false;
        if (!f->there_synced)
            release(f);
    }
    pthread_mutex_unlock(&disk.lock);
    return rc != SQLITE_OK || f ? rc : SQLITE_IOERR_DELETE_NOENT;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
    (void)vfs;
    (void)flags;
    pthread_mutex_lock(&disk.lock);
    int rc = fails() ? SQLITE_IOERR_ACCESS : SQLITE_OK;
    struct disk_file *f = find(name);
    *result = f && f->now.size > 0;
    pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int vfs_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
    (void)vfs;
    strncpy(out, name, (size_t)size - 1);
    out[size - 1] = '\0';
    return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    pthread_mutex_lock(&disk.lock);
    for (int n = 0; n < size; n++)
        out[n] = (char)chance();
    pthread_mutex_unlock(&disk.lock);
    return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds)
{
    (void)vfs;
    return microseconds;
}

static int vfs_time(sqlite3_vfs *vfs, double *julian)
{
    (void)vfs;
    *julian = 2460000.5;
    return SQLITE_OK;
}

static int vfs_error(sqlite3_vfs *vfs, int size, char *out)
{
    (void)vfs;
    (void)size;
    (void)out;
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

/* --- Orders --- */

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
            release(&disk.files[n]);
}

static void locked(void (*order)(uint64_t a, uint64_t b), uint64_t a, uint64_t b)
{
    pthread_mutex_lock(&disk.lock);
    order(a, b);
    pthread_mutex_unlock(&disk.lock);
}

uint64_t fault_calls(void)
{
    pthread_mutex_lock(&disk.lock);
    uint64_t calls = disk.calls;
    pthread_mutex_unlock(&disk.lock);
    return calls;
}

static void order_failure(uint64_t n, uint64_t times)
{
    disk.fail_at = disk.calls + n;
    disk.fail_times = times;
    disk.failed = false;
}

void fault_fail_at(uint64_t n, uint64_t times)
{
    locked(order_failure, n, times);
}

static void order_errno(uint64_t number, uint64_t unused)
{
    (void)unused;
    disk.number = (int)number;
}

void fault_errno(int number)
{
    locked(order_errno, (uint64_t)number, 0);
}

static void order_sync(uint64_t n, uint64_t unused)
{
    (void)unused;
    disk.sync_at = n;
    disk.failed = false;
}

void fault_syncs(uint64_t n)
{
    locked(order_sync, n, 0);
}

bool fault_failed(void)
{
    pthread_mutex_lock(&disk.lock);
    bool failed = disk.failed;
    pthread_mutex_unlock(&disk.lock);
    return failed;
}

static void order_health(uint64_t a, uint64_t b)
{
    (void)a;
    (void)b;
    disk.fail_at = disk.fail_times = disk.sync_at = disk.cut_at = disk.limit = 0;
    disk.failed = disk.cut = disk.read_only = false;
    disk.number = EIO;
}

void fault_heal(void)
{
    locked(order_health, 0, 0);
}

static void order_limit(uint64_t bytes, uint64_t unused)
{
    (void)unused;
    disk.limit = bytes;
}

void fault_limit(uint64_t bytes)
{
    locked(order_limit, bytes, 0);
}

static void order_read_only(uint64_t on, uint64_t unused)
{
    (void)unused;
    disk.read_only = on != 0;
}

void fault_read_only(bool on)
{
    locked(order_read_only, on, 0);
}

void fault_damage(const char *name, uint64_t offset, uint64_t count)
{
    pthread_mutex_lock(&disk.lock);
    struct disk_file *f = find(name);
    for (uint64_t n = offset; f && n < offset + count && n < f->now.size; n++)
        f->now.at[n] = (uint8_t)chance();
    pthread_mutex_unlock(&disk.lock);
}

static void order_cut(uint64_t n, uint64_t unused)
{
    (void)unused;
    disk.cut_at = disk.calls + n;
}

void fault_cut_at(uint64_t n)
{
    locked(order_cut, n, 0);
}

bool fault_is_cut(void)
{
    pthread_mutex_lock(&disk.lock);
    bool cut = disk.cut;
    pthread_mutex_unlock(&disk.lock);
    return cut;
}

/* A name that was made, or unmade, and not synced is there or not. */
static void survive(struct disk_file *f)
{
    settle_by_chance(f, true);
    bool there = f->there == f->there_synced ? f->there : one_in(2);
    if (!there || f->name[0] == '\0') {
        release(f);
        return;
    }
    f->there = f->there_synced = true;
    resize(&f->now, 0);
    put(&f->now, 0, f->synced.at, f->synced.size);
}

void fault_power_on(void)
{
    pthread_mutex_lock(&disk.lock);
    for (int n = 0; n < FILES_MAX; n++)
        if (disk.files[n].used)
            survive(&disk.files[n]);
    pthread_mutex_unlock(&disk.lock);
    fault_heal();
}
