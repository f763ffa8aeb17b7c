/* FILE-running: memory beside the file that outlives the process, and not the machine's power.
 *
 *     header (one page) | segment 0 | segment 1 | ...
 *
 * The header says whether the segments may be believed: written in this boot of the machine, beside
 * this very file, in this layout, and as many as are there; and whether the last server stopped in
 * order, so that there is nothing to believe.  It is on the disk before the first segment is used,
 * so that no older header comes back after a power cut.  Segments are allocated before they are
 * mapped, so that a full disk is an error and no signal.
 *
 * When another process truncates the file, the next access to a segment raises SIGBUS.  Its handler
 * puts memory of this process in the segment's place, and takes the header's magic away. */
#include <errno.h>
#include <fcntl.h>
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
static _Atomic(struct store *) mapped;

struct running_header {
    char magic[8];
    uint32_t version, segment;
    uint32_t state;         /* enum running_mark */
    uint32_t segments;      /* that were begun: a file with fewer was cut off */
    uint64_t device, inode; /* of the store's file */
    char boot[40];
};

static int fail(const struct store *s, const char *what, char *error, size_t size)
{
    char text[64];
    return store_fail(error, size, s->path, "cannot %s %s-running: %s", what, s->path,
                      strerror_r(errno, text, sizeof text));
}

/* A symbolic link is not followed: what is written there would be lost with another file. */
static int fail_to_open(const struct store *s, char *error, size_t size)
{
    if (errno == ELOOP || errno == EISDIR || errno == ENXIO || errno == EEXIST)
        return store_fail(error, size, s->path,
                          "%s-running is not a file; move it away, and the server makes one",
                          s->path);
    if (errno == EACCES || errno == EPERM)
        return store_fail(error, size, s->path,
                          "no right to write %s-running; give the server that right", s->path);
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
static void fill(const struct store *s, enum running_mark state, struct running_header *h)
{
    struct stat file = {0};
    *h = (struct running_header){
        .version = VERSION, .segment = STORE_BOARD_SEGMENT, .state = (uint32_t)state};
    memcpy(h->magic, MAGIC, sizeof h->magic);
    read_boot(h->boot);
    if (stat(s->path, &file) == 0) {
        h->device = (uint64_t)file.st_dev;
        h->inode = (uint64_t)file.st_ino;
    }
}

static int open_beside(struct store *s, char *error, size_t size)
{
    char name[4096];
    struct stat file;
    errno = ENAMETOOLONG;
    if ((size_t)snprintf(name, sizeof name, "%s-running", s->path) >= sizeof name)
        return fail(s, "open", error, size);
    s->running_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
    if (s->running_fd < 0 || fstat(s->running_fd, &file) != 0)
        return fail_to_open(s, error, size);
    errno = EEXIST;
    return S_ISREG(file.st_mode) ? 0 : fail_to_open(s, error, size);
}

/* How many whole segments the file has. */
static uint32_t segments_of(const struct store *s)
{
    struct stat file;
    if (fstat(s->running_fd, &file) != 0 || file.st_size < HEADER_SIZE)
        return 0;
    uint64_t whole = (uint64_t)(file.st_size - HEADER_SIZE) / STORE_BOARD_SEGMENT;
    return (uint32_t)(whole < STORE_BOARD_SEGMENTS ? whole : STORE_BOARD_SEGMENTS);
}

static enum store_board judge(const struct store *s, const struct running_header *found)
{
    struct running_header wanted;
    fill(s, RUNNING_STOPPED, &wanted);
    bool ours = memcmp(found, &wanted, offsetof(struct running_header, state)) == 0 &&
                found->device == wanted.device && found->inode == wanted.inode;
    if (ours && found->state == RUNNING_STOPPED)
        return STORE_BOARD_CLEAN;
    bool same = memcmp(found->boot, wanted.boot, sizeof wanted.boot) == 0;
    bool whole = found->segments <= segments_of(s);
    return ours && found->state == RUNNING_NOW && wanted.boot[0] && same && whole
               ? STORE_BOARD_KEPT
               : STORE_BOARD_LOST;
}

/* --- Segments --- */

/* The header counts it before anything is written there. */
static int make(struct store *s, uint32_t n)
{
    const uint32_t count = n + 1;
    off_t at = HEADER_SIZE + (off_t)n * STORE_BOARD_SEGMENT;
    errno = posix_fallocate(s->running_fd, at, STORE_BOARD_SEGMENT);
    if (errno != 0)
        return -1;
    errno = EIO;
    return pwrite(s->running_fd, &count, sizeof count, offsetof(struct running_header, segments)) ==
                   (ssize_t)sizeof count
               ? 0
               : -1;
}

/* A part of a segment at the end, of a file that was cut off, is not there. */
static void *map(struct store *s, uint32_t n, bool grow)
{
    off_t at = HEADER_SIZE + (off_t)n * STORE_BOARD_SEGMENT;
    bool there = n < segments_of(s);
    if (!there && (!grow || make(s, n) != 0))
        return NULL;
    void *memory =
        mmap(NULL, STORE_BOARD_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, s->running_fd, at);
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
    if (failed && !s->running_full)
        log_error("there is no room to note which tasks run: those that would be more wait",
                  LOG_STR("file", s->path), LOG_STR("why", strerror_r(errno, text, sizeof text)));
    else if (!failed && s->running_full)
        log_info("there is room again to note which tasks run");
    s->running_full = failed;
}

void *store_board_segment(struct store *s, uint32_t n, bool grow)
{
    if (n >= STORE_BOARD_SEGMENTS)
        return NULL;
    if (!s->running[n] && s->in_memory)
        s->running[n] = grow ? calloc(1, STORE_BOARD_SEGMENT) : NULL;
    else if (!s->running[n])
        s->running[n] = map(s, n, grow);
    if (grow)
        tell(s, !s->running[n]);
    return s->running[n];
}

int store_board_open(struct store *s, enum store_board *was, char *error, size_t size)
{
    struct running_header found = {0};
    *was = STORE_BOARD_LOST;
    if (s->in_memory)
        return 0;
    if (open_beside(s, error, size) != 0)
        return -1;
    atomic_store_explicit(&mapped, s, memory_order_relaxed);
    for (uint32_t n = 0; n < segments_of(s); n++)
        if (!store_board_segment(s, n, false))
            return fail(s, "map", error, size);
    if (pread(s->running_fd, &found, sizeof found, 0) == (ssize_t)sizeof found)
        *was = judge(s, &found);
    return 0;
}

/* --- A file that was truncated --- */

static bool is_in(const void *segment, const void *at)
{
    return segment && (uintptr_t)at - (uintptr_t)segment < STORE_BOARD_SEGMENT;
}

/* The header loses its magic, for the file may become as long again as it was, with zeros. */
static bool replace(struct store *s, void *segment)
{
    static const char no_magic[sizeof MAGIC - 1];
    void *memory = mmap(segment, STORE_BOARD_SEGMENT, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    bool lost = pwrite(s->running_fd, no_magic, sizeof no_magic, 0) == (ssize_t)sizeof no_magic;
    atomic_store_explicit(&s->running_cut, true, memory_order_relaxed);
    return memory == segment && lost;
}

bool store_board_mend(const void *at)
{
    struct store *s = atomic_load_explicit(&mapped, memory_order_relaxed);
    int error = errno; /* of the code that the signal interrupted */
    bool mended = false;
    for (uint32_t n = 0; s && n < STORE_BOARD_SEGMENTS && !mended; n++)
        mended = is_in(s->running[n], at) && replace(s, s->running[n]);
    errno = error;
    return mended;
}

/* --- The header --- */

static int write_header(struct store *s, enum running_mark state)
{
    struct running_header h;
    fill(s, state, &h);
    h.segments = segments_of(s);
    errno = EIO;
    return pwrite(s->running_fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
                   fdatasync(s->running_fd) == 0
               ? 0
               : -1;
}

/* What is there stays allocated, so that a server whose disk is full starts again. */
static int clear(struct store *s)
{
    for (uint32_t n = 0; n < segments_of(s); n++) {
        off_t at = HEADER_SIZE + (off_t)n * STORE_BOARD_SEGMENT;
        errno = posix_fallocate(s->running_fd, at, STORE_BOARD_SEGMENT); /* it may have holes */
        if (errno != 0)
            return -1;
        memset(s->running[n], 0, STORE_BOARD_SEGMENT);
    }
    return 0;
}

int store_board_renew(struct store *s, bool raise, char *error, size_t size)
{
    if (raise && store_raise_attempts(s, error, size) != 0)
        return -1;
    if (s->in_memory)
        return 0;
    if (clear(s) != 0 || write_header(s, RUNNING_NOW) != 0)
        return fail(s, "write", error, size);
    return 0;
}

/* A failure leaves the header as it was, and the next start believes what the segments say: that is
 * true as well. */
void store_board_close(struct store *s)
{
    if (s->running_fd >= 0)
        write_header(s, RUNNING_STOPPED);
}

void store_board_free(struct store *s)
{
    struct store *own = s;
    atomic_compare_exchange_strong_explicit(&mapped, &own, NULL, memory_order_relaxed,
                                            memory_order_relaxed);
    for (uint32_t n = 0; n < STORE_BOARD_SEGMENTS; n++)
        if (s->in_memory)
            free(s->running[n]);
        else if (s->running[n])
            munmap(s->running[n], STORE_BOARD_SEGMENT);
    if (s->running_fd >= 0)
        close(s->running_fd);
}
