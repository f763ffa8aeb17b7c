/* A handler of a fatal signal may do very little.  This one
 *
 *   - runs on a stack of its own, since the thread's may be used up (thread_own_signal_stack());
 *   - formats and writes with base/log.c, which writes the last record without allocation, lock or
 *     locale;
 *   - sets an alarm, whose default action ends the process if the handler hangs: the names of the
 *     frames come from the dynamic linker, whose lock the thread may hold;
 *   - survives a fault of its own: if the stack cannot be unwound, the record has no frames;
 *   - then writes the flight recorder to a file, by the same rules;
 *   - lets one of several threads write, while the others wait for the end.
 *
 * One SIGBUS is repaired instead: that of FILE-running, when another process truncated the file. */
#include "server/system/crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ergon/ao.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/recorder_dump.h"
#include "server/runtime/thread.h"
#include "server/runtime/thread_locals.h"
#include "server/store/store.h"
#include "server/system/backtrace.h"
#include "server/tasks/registry.h"
#include "server/tasks/running.h"

/* ==== files of the flight recorder ====
 *
 * A file is written in pieces with open(), write() and close(), so that a signal handler can do it,
 * while threads still write to their rings.  The buffers are static, since a stack may be too
 * small, and each kind has one: a crash may come while the file of a stuck loop is being written.
 */

#define NAME_BEGIN "ergond-"

enum recorder_cause { RECORDER_OF_CRASH, RECORDER_OF_STUCK };

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

static struct recorder_files_options files; /* folder NULL: they are not open */
static int folder = -1;
static char folder_path[PATH_MAX]; /* absolute: the working directory may change */
static struct piece pieces[2];     /* indexed by cause */

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

/* An incomplete file is not removed, since the part that was written can be read. */
static bool make_file(enum recorder_cause cause, const char *why, char path[RECORDER_FILE_PATH])
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
    return files.folder && make_file(RECORDER_OF_CRASH, why, path);
}

/* ---- which files are kept ---- */

/* The seconds in the name of a file of this kind; 0: it is no such file. */
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

/* Deletes the oldest files until `stay` are left. */
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
    bool started; /* and has not been joined */
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
    if (make_file(RECORDER_OF_STUCK, stuck.why, path))
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

/* ---- opening and closing ---- */

static void log_last_crash(const struct found *f)
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
    log_last_crash(&crashes);
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

/* ==== the last record ==== */

enum { PATIENCE_S = 5, TEXT_MAX = 2500, THREAD_NAME = 16 };

static const struct {
    int number;
    const char *name;
} fatal[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
             {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"}, {SIGSYS, "SIGSYS"}};
enum { FATAL_COUNT = sizeof fatal / sizeof fatal[0] };

/* True: a thread writes the last record.  Relaxed, since the exchange lets one thread in and orders
 * nothing. */
static _Atomic bool writing;
static bool leaving_file; /* the record is written; a later fault comes from writing the file */
static siginfo_t cause;   /* the signal of the thread that writes */

/* True while the server runs; the main thread writes it.  Relaxed: it orders nothing. */
static _Atomic bool exit_unexpected;

static void (*note_end)(const char *what); /* NULL: nobody asks */

void crash_on_end(void (*note)(const char *what))
{
    note_end = note;
}

/* ---- the record ---- */

static void write_record(const char *what, const struct log_field *first, const struct backtrace *b)
{
    char thread[THREAD_NAME + 1] = "", text[TEXT_MAX];
    struct running_task task;
    bool in_task = task_running_here(&task);
    const struct ao *object = ao_current();

    prctl(PR_GET_NAME, thread);
    backtrace_text(b, text, sizeof text);
    log_last(what, first[0], first[1], LOG_STR("thread", thread),
             LOG_STR("object", !in_task && object ? object->cls->name : NULL),
             LOG_STR("module", in_task ? task.module : NULL),
             LOG_STR("method", in_task ? task.method : NULL),
             LOG_STR("task", in_task ? task.name : NULL),
             LOG_STR("backtrace", b->count > 0 ? text : NULL));
}

/* ---- the file ---- */

static char *put(char *at, const char *end, const char *text)
{
    while (at < end && *text)
        *at++ = *text++;
    *at = '\0';
    return at;
}

/* "SIGSEGV in hash, task 12, on loop 0" */
static void leave_file(const char *what)
{
    char why[RECORDER_WHY_MAX] = "", path[RECORDER_FILE_PATH], thread[THREAD_NAME + 1] = "";
    const char *end = why + sizeof why - 1;
    struct running_task task;
    char *at = put(why, end, what);

    leaving_file = true;
    alarm(PATIENCE_S); /* again: writing the record may have waited for the reader of the log */
    if (task_running_here(&task)) {
        at = put(put(at, end, " in "), end, task.method);
        at = put(put(at, end, ", task "), end, task.name);
    }
    prctl(PR_GET_NAME, thread);
    put(put(at, end, ", on "), end, thread);
    if (recorder_files_crash(why, path))
        log_last("what all threads did last is in a file", LOG_STR("file", path),
                 LOG_STR("hint", "ergon debug show FILE"));
}

/* ---- signals ---- */

static const char *signal_name(int number)
{
    for (int i = 0; i < FATAL_COUNT; i++)
        if (fatal[i].number == number)
            return fatal[i].name;
    return "?";
}

static void set_default(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};

    sigaction(number, &action, NULL);
}

static bool is_fault(void)
{
    return cause.si_code > 0;
}

static void record_cause(const struct backtrace *b)
{
    char address[BACKTRACE_ADDRESS_MAX];
    bool stranger = !is_fault() && cause.si_pid != getpid();
    const struct log_field fields[] = {LOG_STR("signal", signal_name(cause.si_signo)),
                                       stranger ? LOG_INT("sent_by", cause.si_pid)
                                                : LOG_STR("address", is_fault() ? address : NULL)};

    backtrace_address((uintptr_t)cause.si_addr, address);
    write_record(note_end ? "the process of the module dies of a signal"
                          : "the server dies of a signal",
                 fields, b);
}

/* Writes the record with the frames.  If unwinding them faults, the handler runs again and writes
 * the record without them.  Then it writes the file, unless writing it is what faulted.  A fault is
 * raised again when the thread retries its instruction, with the stack as it was. */
static void on_fatal(int number, siginfo_t *info, void *context)
{
    struct backtrace b = {.count = 0};
    bool again = thread_locals.writes_last_record;

    if (number == SIGBUS && info->si_code == BUS_ADRERR && store_board_mend(info->si_addr))
        return;
    if (!again && atomic_exchange_explicit(&writing, true, memory_order_relaxed))
        for (;;)
            pause();
    if (!again) {
        thread_locals.writes_last_record = true;
        cause = *info;
        set_default(SIGALRM);
        alarm(PATIENCE_S);
        if (note_end)
            note_end(signal_name(number));
        backtrace_take(&b, context);
    }
    if (!leaving_file) {
        record_cause(&b);
        leave_file(signal_name(cause.si_signo));
    }
    set_default(cause.si_signo);
    if (again || !is_fault())
        raise(cause.si_signo);
}

static int install_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_fatal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < FATAL_COUNT; i++)
        if (sigaction(fatal[i].number, &action, NULL) != 0)
            return -1;
    return 0;
}

/* ---- exit() ---- */

static void on_exit_call(int status, void *arg)
{
    const struct log_field fields[] = {LOG_INT("status", status),
                                       LOG_INT("exit_status", CRASH_EXIT_CALLED)};
    struct backtrace b = {.count = 0};

    (void)arg;
    if (!atomic_load_explicit(&exit_unexpected, memory_order_relaxed))
        return;
    if (note_end)
        note_end("exit() was called");
    backtrace_take(&b, NULL);
    write_record(note_end ? "exit() was called in the process of the module"
                          : "exit() was called in a running server",
                 fields, &b);
    leave_file("exit()");
    _exit(CRASH_EXIT_CALLED);
}

static bool sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

int crash_install(void)
{
    backtrace_prepare();
    thread_own_signal_stack();
    if (on_exit(on_exit_call, NULL) != 0)
        return -1;
    return sanitized() ? 0 : install_signals();
}

void crash_expect_no_exit(bool expect)
{
    atomic_store_explicit(&exit_unexpected, expect, memory_order_relaxed);
}
