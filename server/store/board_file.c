/* FILE-running: memory that outlives the process, and not the machine's power; beside the store's
 * file, or in a folder of this node of a cluster.
 *
 *     header (one page) | segment 0 | segment 1 | ...
 *
 * The header says whether the segments may be believed: written in this boot of the machine, beside
 * this very file (or by this node of this cluster), in this layout, and as many as are there; and
 * whether the last server stopped in
 * order, so that there is nothing to believe.  It is on the disk before the first segment is used,
 * so that no older header comes back after a power cut.  Segments are allocated before they are
 * mapped, so that a full disk is an error and no signal.
 *
 * When another process truncates the file, the next access to a segment raises SIGBUS.  Its handler
 * puts memory of this process in the segment's place, and takes the header's magic away. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "server/store/store_parts.h"

#define MAGIC       "ergonrun"
#define BOOT_FILE   "/proc/sys/kernel/random/boot_id"
#define HEADER_SIZE ((off_t)4096)

enum { VERSION = 1, FILE_MODE = 0600 };
enum running_mark { RUNNING_NOW = 1, RUNNING_STOPPED = 2 };

/* The store whose segments are mapped; a handler of a signal has no other way to find them.  Orders
 * nothing (relaxed): a thread that uses a segment was handed it. */
static _Atomic(struct board *) mapped;

struct running_header {
    char magic[8];
    uint32_t version, segment;
    uint32_t state;         /* enum running_mark */
    uint32_t segments;      /* that were begun: a file with fewer was cut off */
    uint64_t device, inode; /* of the store's file; of a cluster 0 */
    char boot[40];
    /* --- Of a cluster; zeros, or missing, of a file. */
    char cluster[BOARD_NAME], node[BOARD_NAME];
    uint64_t epoch;
};
enum { HEADER_LEAST = offsetof(struct running_header, cluster) };

static int fail(const struct store *s, const char *what, char *error, size_t size)
{
    char text[64];
    return store_fail(error, size, s->path, "cannot %s %s-running: %s", what, s->board.path,
                      strerror_r(errno, text, sizeof text));
}

/* A symbolic link is not followed: what is written there would be lost with another file. */
static int fail_to_open(const struct store *s, char *error, size_t size)
{
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO || errno == EEXIST)
        return store_fail(error, size, s->path,
                          "%s-running is not a file; move it away, and the server makes one",
                          s->board.path);
    if (errno == EACCES || errno == EPERM)
        return store_fail(error, size, s->path,
                          "no right to write %s-running; give the server that right",
                          s->board.path);
    return fail(s, "open", error, size);
}

/* Without one no header is believed. */
static void read_boot(char boot[static 40])
{
    int fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, boot, 39) : 0;
    memset(boot + (len > 0 ? len : 0), 0, 40 - (size_t)(len > 0 ? len : 0));
    if (fd >= 0)
        close(fd);
}

/* The header as it should be. */
static void fill(const struct board *b, enum running_mark state, struct running_header *h)
{
    struct stat file = {0};
    *h = (struct running_header){
        .version = VERSION, .segment = STORE_BOARD_SEGMENT, .state = (uint32_t)state};
    memcpy(h->magic, MAGIC, sizeof h->magic);
    read_boot(h->boot);
    memcpy(h->cluster, b->cluster, sizeof h->cluster);
    memcpy(h->node, b->node, sizeof h->node);
    h->epoch = b->epoch;
    if (!b->cluster[0] && stat(b->path, &file) == 0) {
        h->device = (uint64_t)file.st_dev;
        h->inode = (uint64_t)file.st_ino;
    }
}

static int open_beside(struct store *s, char *error, size_t size)
{
    char name[4096];
    struct stat file;
    errno = ENAMETOOLONG;
    if ((size_t)snprintf(name, sizeof name, "%s-running", s->board.path) >= sizeof name)
        return fail(s, "open", error, size);
    s->board.fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
    if (s->board.fd < 0 || fstat(s->board.fd, &file) != 0)
        return fail_to_open(s, error, size);
    errno = EEXIST;
    return S_ISREG(file.st_mode) ? 0 : fail_to_open(s, error, size);
}

/* How many whole segments the file has. */
static uint32_t segments_of(const struct board *b)
{
    struct stat file;
    if (fstat(b->fd, &file) != 0 || file.st_size < HEADER_SIZE)
        return 0;
    uint64_t whole = (uint64_t)(file.st_size - HEADER_SIZE) / STORE_BOARD_SEGMENT;
    return (uint32_t)(whole < STORE_BOARD_SEGMENTS ? whole : STORE_BOARD_SEGMENTS);
}

static bool is_of(const struct running_header *found, const struct running_header *wanted)
{
    return memcmp(found, wanted, offsetof(struct running_header, state)) == 0 &&
           found->device == wanted->device && found->inode == wanted->inode &&
           memcmp(found->cluster, wanted->cluster, sizeof found->cluster) == 0 &&
           memcmp(found->node, wanted->node, sizeof found->node) == 0;
}

static enum store_board judge(const struct board *b, const struct running_header *found)
{
    struct running_header wanted;
    fill(b, RUNNING_STOPPED, &wanted);
    bool ours = is_of(found, &wanted);
    if (ours && found->state == RUNNING_STOPPED)
        return STORE_BOARD_CLEAN;
    bool same = memcmp(found->boot, wanted.boot, sizeof wanted.boot) == 0;
    bool whole = found->segments <= segments_of(b);
    return ours && found->state == RUNNING_NOW && wanted.boot[0] && same && whole
               ? STORE_BOARD_KEPT
               : STORE_BOARD_LOST;
}

/* --- Segments --- */

/* The header counts it before anything is written there. */
static int make(struct board *b, uint32_t n)
{
    const uint32_t count = n + 1;
    off_t at = HEADER_SIZE + (off_t)n * STORE_BOARD_SEGMENT;
    errno = posix_fallocate(b->fd, at, STORE_BOARD_SEGMENT);
    if (errno != 0)
        return -1;
    errno = EIO;
    return pwrite(b->fd, &count, sizeof count, offsetof(struct running_header, segments)) ==
                   (ssize_t)sizeof count
               ? 0
               : -1;
}

/* A part of a segment at the end, of a file that was cut off, is not there. */
static void *map(struct board *b, uint32_t n, bool grow)
{
    off_t at = HEADER_SIZE + (off_t)n * STORE_BOARD_SEGMENT;
    bool there = n < segments_of(b);
    if (!there && (!grow || make(b, n) != 0))
        return NULL;
    void *memory = mmap(NULL, STORE_BOARD_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, at);
    if (memory == MAP_FAILED)
        return NULL;
    if (!there)
        memset(memory, 0, STORE_BOARD_SEGMENT);
    return memory;
}

/* Once for each trouble: it is tried again for every attempt. */
static void tell(struct store *s, bool failed)
{
    char text[64];
    if (failed && !s->board.full)
        log_error("there is no room to note which tasks run: those that would be more wait",
                  LOG_STR("file", s->path), LOG_STR("why", strerror_r(errno, text, sizeof text)));
    else if (!failed && s->board.full)
        log_info("there is room again to note which tasks run");
    s->board.full = failed;
}

void *store_board_segment(struct store *s, uint32_t n, bool grow)
{
    struct board *b = &s->board;
    if (n >= STORE_BOARD_SEGMENTS)
        return NULL;
    if (!b->segments[n] && !b->path)
        b->segments[n] = grow ? calloc(1, STORE_BOARD_SEGMENT) : NULL;
    else if (!b->segments[n])
        b->segments[n] = map(b, n, grow);
    if (grow)
        tell(s, !b->segments[n]);
    return b->segments[n];
}

/* A folder is one process's; a file's own lock was taken when that was opened. */
static int lock_folder(struct store *s, char *error, size_t size)
{
    char why[200];
    if (!s->board.cluster[0] || lock_take(&s->board.lock, s->board.path, -1, why, sizeof why) == 0)
        return 0;
    return store_fail(error, size, s->path, "%s", why);
}

int store_board_open(struct store *s, enum store_board *was, char *error, size_t size)
{
    struct running_header found = {0};
    struct board *b = &s->board;
    *was = STORE_BOARD_LOST;
    if (!b->path)
        return 0;
    if (lock_folder(s, error, size) != 0 || open_beside(s, error, size) != 0)
        return -1;
    atomic_store_explicit(&mapped, b, memory_order_relaxed);
    for (uint32_t n = 0; n < segments_of(b); n++)
        if (!store_board_segment(s, n, false))
            return fail(s, "map", error, size);
    if (pread(b->fd, &found, sizeof found, 0) >= HEADER_LEAST)
        *was = judge(b, &found);
    b->found = *was == STORE_BOARD_KEPT ? found.epoch : 0;
    b->clean = *was == STORE_BOARD_CLEAN;
    return 0;
}

uint64_t store_board_epoch(const struct store *s)
{
    return s->board.found;
}

void store_board_own(struct store *s, uint64_t epoch)
{
    s->board.epoch = epoch;
}

/* --- A file that was truncated --- */

static bool is_in(const void *segment, const void *at)
{
    return segment && (uintptr_t)at - (uintptr_t)segment < STORE_BOARD_SEGMENT;
}

/* The header loses its magic, for the file may become as long again as it was, with zeros. */
static bool replace(struct board *b, void *segment)
{
    static const char no_magic[sizeof MAGIC - 1];
    void *memory = mmap(segment, STORE_BOARD_SEGMENT, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    bool lost = pwrite(b->fd, no_magic, sizeof no_magic, 0) == (ssize_t)sizeof no_magic;
    atomic_store_explicit(&b->cut, true, memory_order_relaxed);
    return memory == segment && lost;
}

bool store_board_mend(const void *at)
{
    struct board *b = atomic_load_explicit(&mapped, memory_order_relaxed);
    int error = errno; /* of the code that the signal interrupted */
    bool mended = false;
    for (uint32_t n = 0; b && n < STORE_BOARD_SEGMENTS && !mended; n++)
        mended = is_in(b->segments[n], at) && replace(b, b->segments[n]);
    errno = error;
    return mended;
}

/* The handler of SIGBUS cannot write to the log. */
void board_tell(struct store *s)
{
    if (!atomic_load_explicit(&s->board.cut, memory_order_relaxed))
        return;
    atomic_store_explicit(&s->board.cut, false, memory_order_relaxed);
    log_error("a file of the store was truncated by another process", LOG_STR("store", s->path),
              LOG_STR("part", "-running"),
              LOG_STR("effect", "after a crash, the next start cannot tell which tasks ran"));
}

/* --- The header --- */

static int write_header(struct board *b, enum running_mark state)
{
    struct running_header h;
    fill(b, state, &h);
    h.segments = segments_of(b);
    ssize_t size = b->cluster[0] ? (ssize_t)sizeof h : HEADER_LEAST;
    errno = EIO;
    return pwrite(b->fd, &h, (size_t)size, 0) == size && fdatasync(b->fd) == 0 ? 0 : -1;
}

/* What is there stays allocated, so that a server whose disk is full starts again. */
static int clear(struct board *b)
{
    for (uint32_t n = 0; n < segments_of(b); n++) {
        off_t at = HEADER_SIZE + (off_t)n * STORE_BOARD_SEGMENT;
        errno = posix_fallocate(b->fd, at, STORE_BOARD_SEGMENT); /* it may have holes */
        if (errno != 0)
            return -1;
        memset(b->segments[n], 0, STORE_BOARD_SEGMENT);
    }
    return 0;
}

static int raise_attempts(struct store *s, char *error, size_t size)
{
    struct store_fault fault;
    if (!s->driver->raise || s->driver->raise(s->engine, &fault) == 0)
        return 0;
    snprintf(error, size, "%s", fault.text);
    return -1;
}

int store_board_renew(struct store *s, bool raise, char *error, size_t size)
{
    if (raise && raise_attempts(s, error, size) != 0)
        return -1;
    if (!s->board.path)
        return 0;
    if (clear(&s->board) != 0 || write_header(&s->board, RUNNING_NOW) != 0)
        return fail(s, "write", error, size);
    return 0;
}

int store_board_keep(struct store *s, char *error, size_t size)
{
    if (s->board.path && write_header(&s->board, RUNNING_NOW) != 0)
        return fail(s, "write", error, size);
    return 0;
}

/* A failure leaves the header as it was, and the next start believes what the segments say: that is
 * true as well. */
void store_board_close(struct store *s)
{
    if (s->board.fd >= 0)
        write_header(&s->board, RUNNING_STOPPED);
}

/* --- Begin and end --- */

/* PATH, or FOLDER/NODE. */
static char *path_of(const struct store_options *o, const char *path)
{
    char name[PATH_MAX];
    if (!o->cluster)
        return strdup(path);
    snprintf(name, sizeof name, "%s/%s", o->folder, o->node);
    return strdup(name);
}

bool board_init(struct board *b, const struct store_options *o, const char *path)
{
    b->fd = -1;
    b->lock = (struct lock){-1, -1};
    if (o->vfs || (driver_is_url(o->path) && !(o->cluster && o->folder)))
        return true;
    if (o->cluster) {
        snprintf(b->cluster, sizeof b->cluster, "%s", o->cluster);
        snprintf(b->node, sizeof b->node, "%s", o->node);
    }
    b->path = path ? path_of(o, path) : NULL;
    return b->path != NULL;
}

void board_fini(struct board *b)
{
    struct board *own = b;
    atomic_compare_exchange_strong_explicit(&mapped, &own, NULL, memory_order_relaxed,
                                            memory_order_relaxed);
    for (uint32_t n = 0; n < STORE_BOARD_SEGMENTS; n++)
        if (!b->path)
            free(b->segments[n]);
        else if (b->segments[n])
            munmap(b->segments[n], STORE_BOARD_SEGMENT);
    if (b->fd >= 0)
        close(b->fd);
    lock_drop(&b->lock);
    free(b->path);
}
