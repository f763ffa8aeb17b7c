/* A file is written in pieces by open(), write() and close(), from rings that go on meanwhile, so
 * that a handler of a signal can do it.  What it writes from has no pieces on a stack, and each
 * kind has its own: a crash may come while the other is being written. */
#include "server/recorder_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/recorder_dump.h"
#include "server/runtime/thread.h"
#include "server/tasks/registry.h"

#define NAME_BEGIN "ergond-"

enum {
    PIECE_WORDS = 4096,
    PIECE_BYTES = DUMP_HEAD + DUMP_WORDS_HEAD + PIECE_WORDS * 8,
    FILE_NAME_MAX = 64,
    RIGHTS = 0600,
    DAY_S = 86400
};
#define NS_A_SECOND UINT64_C(1000000000)

static const uint64_t stuck_apart = 60 * NS_A_SECOND; /* between two files of a stuck loop */

static const char *const name_ends[] = {
    [RECORDER_OF_CRASH] = "-crash.rec", [RECORDER_OF_STUCK] = "-stuck.rec"};

struct piece {
    uint64_t words[PIECE_WORDS];
    uint8_t bytes[PIECE_BYTES];
};

static struct recorder_files_options files; /* folder NULL: not open */
static int folder = -1;
static char folder_path[PATH_MAX]; /* whole, whatever the working folder is later */
static struct piece pieces[2];     /* by cause */

/* ---- signal-safe: the file ---- */

static char *add_text(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    *at = '\0';
    return at;
}

static char *add_number(char *at, uint64_t number)
{
    char digits[20];
    unsigned n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *at++ = digits[--n];
    *at = '\0';
    return at;
}

static void make_name(char name[FILE_NAME_MAX], uint64_t seconds, enum recorder_cause cause)
{
    char *at = add_text(name, NAME_BEGIN);

    at = add_text(add_number(at, seconds), "-");
    add_text(add_number(at, (uint64_t)getpid()), name_ends[cause]);
}

static bool write_all(int fd, const uint8_t *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_start(int fd, uint8_t *out, const char *why)
{
    size_t whole = strlen(why), len = whole < RECORDER_WHY_MAX ? whole : RECORDER_WHY_MAX;
    uint8_t *end = dump_start(out, clock_wall(), clock_monotonic(), (uint64_t)getpid(), len);

    memcpy(end, why, len);
    return write_all(fd, out, (size_t)(end - out) + len);
}

static bool write_name(int fd, uint8_t *out, enum dump_section what, uint32_t index,
                       const char *name)
{
    enum { NAME_MOST = 1024 };
    size_t whole = strlen(name), len = whole < NAME_MOST ? whole : NAME_MOST;
    uint8_t *end = dump_named(out, what, index, len);

    memcpy(end, name, len);
    return write_all(fd, out, (size_t)(end - out) + len);
}

static bool write_ring(int fd, struct piece *p, uint32_t index)
{
    const struct recorder_ring *ring = &files.rings->at[index];
    uint64_t from = 0, until = recorder_written(ring->recorder);
    bool good = until == 0 || write_name(fd, p->bytes, DUMP_RING, index, ring->name);

    while (good && from < until) {
        uint32_t count = recorder_copy(ring->recorder, &from, until, p->words, PIECE_WORDS);
        if (count == 0)
            break;
        const uint8_t *end = dump_words(p->bytes, index, from, p->words, count);
        good = write_all(fd, p->bytes, (size_t)(end - p->bytes));
        from += count;
    }
    return good;
}

static bool write_file(int fd, struct piece *p, const char *why)
{
    bool good = write_start(fd, p->bytes, why);
    uint32_t count = registry_count(files.registry);

    for (uint32_t i = 0; good && i < count; i++) {
        const struct method *m = registry_at(files.registry, i);
        good = !m || write_name(fd, p->bytes, DUMP_METHOD, m->index, method_name(m));
    }
    for (uint32_t i = 0; good && i < files.rings->count; i++)
        good = write_ring(fd, p, i);
    return good && write_all(fd, p->bytes, (size_t)(dump_end(p->bytes) - p->bytes));
}

/* What there is of a file that could not be written to its end stays: it can be read so far. */
static bool leave_file(enum recorder_cause cause, const char *why, char path[RECORDER_FILE_PATH])
{
    char name[FILE_NAME_MAX];

    make_name(name, clock_wall() / NS_A_SECOND, cause);
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, RIGHTS);
    if (fd < 0)
        return false;
    bool good = write_file(fd, &pieces[cause], why);
    int error = errno;
    close(fd);
    errno = error;
    add_text(add_text(add_text(path, files.folder), "/"), name);
    return good;
}

bool recorder_files_crash(const char *why, char path[RECORDER_FILE_PATH])
{
    return files.folder && leave_file(RECORDER_OF_CRASH, why, path);
}

/* ---- which are kept ---- */

/* Of a file of this kind the seconds in its name; 0: it is none. */
static uint64_t seconds_of(const char *name, enum recorder_cause cause)
{
    size_t begin = strlen(NAME_BEGIN), len = strlen(name), end = strlen(name_ends[cause]);

    if (len <= begin + end || strncmp(name, NAME_BEGIN, begin) != 0 ||
        strcmp(name + len - end, name_ends[cause]) != 0)
        return 0;
    return strtoull(name + begin, NULL, 10);
}

struct found {
    char oldest[NAME_MAX + 1], newest[NAME_MAX + 1];
    uint64_t oldest_seconds, newest_seconds;
    uint32_t count;
};

static void note_found(struct found *f, const char *name, uint64_t seconds)
{
    if (f->count == 0 || seconds < f->oldest_seconds) {
        f->oldest_seconds = seconds;
        snprintf(f->oldest, sizeof f->oldest, "%s", name);
    }
    if (f->count == 0 || seconds >= f->newest_seconds) {
        f->newest_seconds = seconds;
        snprintf(f->newest, sizeof f->newest, "%s", name);
    }
    f->count++;
}

static struct found find(enum recorder_cause cause)
{
    struct found f = {.count = 0};
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

    if (!d && fd >= 0)
        close(fd);
    for (const struct dirent *e; d && (e = readdir(d));) {
        uint64_t seconds = seconds_of(e->d_name, cause);
        if (seconds > 0)
            note_found(&f, e->d_name, seconds);
    }
    if (d)
        closedir(d);
    return f;
}

/* So many may stay. */
static struct found make_room(enum recorder_cause cause, uint32_t stay)
{
    struct found f = find(cause);

    while (f.count > stay && unlinkat(folder, f.oldest, 0) == 0)
        f = find(cause);
    return f;
}

/* ---- a stuck loop ---- */

static struct {
    pthread_t thread;
    bool started; /* and not joined */
    uint64_t next;
    char why[RECORDER_WHY_MAX];
} stuck;

static void *write_stuck(void *arg)
{
    char path[RECORDER_FILE_PATH], text[96];

    (void)arg;
    pthread_setname_np(pthread_self(), "recorder");
    thread_own_signal_stack();
    make_room(RECORDER_OF_STUCK, files.kept - 1);
    if (leave_file(RECORDER_OF_STUCK, stuck.why, path))
        log_warn("what all threads did last is in a file", LOG_STR("file", path),
                 LOG_STR("why", stuck.why), LOG_STR("hint", "ergon debug show FILE"));
    else
        log_warn("what all threads did last cannot be written", LOG_STR("folder", files.folder),
                 LOG_STR("why", strerror_r(errno, text, sizeof text)));
    return NULL;
}

static void await_stuck(void)
{
    if (stuck.started)
        pthread_join(stuck.thread, NULL);
    stuck.started = false;
}

void recorder_files_stuck(const char *why)
{
    uint64_t now = clock_monotonic();

    if (!files.folder || now < stuck.next)
        return;
    if (stuck.started && pthread_tryjoin_np(stuck.thread, NULL) != 0)
        return; /* the disk is stuck, too */
    snprintf(stuck.why, sizeof stuck.why, "%s", why);
    stuck.started = thread_start_undisturbed(&stuck.thread, write_stuck, NULL) == 0;
    stuck.next = now + stuck_apart;
}

/* ---- its life ---- */

static void tell_of_crash(const struct found *f)
{
    char path[RECORDER_FILE_PATH];
    uint64_t now = clock_wall() / NS_A_SECOND;

    if (f->count == 0 || now > f->newest_seconds + DAY_S)
        return;
    snprintf(path, sizeof path, "%s/%s", files.folder, f->newest);
    log_warn("a server has crashed here: what its threads did last is in a file",
             LOG_STR("file", path), LOG_NS("ago", (now - f->newest_seconds) * NS_A_SECOND),
             LOG_STR("hint", "ergon debug show FILE"));
}

static uint64_t crashed_at;

uint64_t recorder_files_crashed_at(void)
{
    return crashed_at;
}

int recorder_files_open(const struct recorder_files_options *o)
{
    folder = open(o->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || !realpath(o->folder, folder_path)) {
        if (folder >= 0)
            close(folder);
        return -1;
    }
    files = *o;
    files.folder = folder_path;
    const struct found crashes = make_room(RECORDER_OF_CRASH, files.kept);
    make_room(RECORDER_OF_STUCK, files.kept);
    crashed_at = crashes.count > 0 ? crashes.newest_seconds : 0;
    tell_of_crash(&crashes);
    return 0;
}

void recorder_files_close(void)
{
    if (!files.folder)
        return;
    await_stuck();
    files.folder = NULL;
    close(folder);
    folder = -1;
    stuck.next = 0;
}
