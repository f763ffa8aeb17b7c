#include "base/log_writer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counter.h"
#include "base/log_repeats.h"

enum {
    BATCH_MAX =
        PIPE_BUF, /* one write of so many bytes is not torn, and does not block after poll() */
    NOTE_MAX = 256,
    LAST_PATIENCE_MS = 2000
};
static const uint64_t window = 1000000000; /* ns */
static const uint64_t ns_per_ms = 1000000;

_Static_assert((int)LOG_RECORD_MAX <= (int)BATCH_MAX, "each batch takes a record at least");

struct log_writer {
    struct log_writer_options options;
    int wake; /* eventfd: the thread sleeps in it */
    pthread_t thread;
    sem_t ended;

    pthread_mutex_t lock; /* held for a look or a copy, never for a system call that may wait */
    /* under the lock */
    struct log_repeats repeats;
    bool asleep;     /* the thread waits for `wake`; whoever clears it wakes it */
    bool stopping;   /* it ends once everything is written */
    bool dropping;   /* until there is room again */
    bool shedding;   /* debug records alone are dropped, until most of the buffer is free */
    uint64_t unsaid; /* records dropped since that was last said */
    size_t reserved; /* bytes that are free, but promised */
    counter records, dropped, repeated; /* figures, changed under the lock */

    /* Bytes since the start; what lies between them waits, at its place modulo the size. */
    _Atomic uint64_t accepted; /* changed under the lock */
    _Atomic uint64_t written;  /* changed by the thread */
    char buffer[];
};

/* ---- the buffer, under the lock ---- */

static size_t waiting(const struct log_writer *w)
{
    /* First what was written: so it is never more than what was accepted. */
    uint64_t written = atomic_load_explicit(&w->written, memory_order_acquire);

    return (size_t)(atomic_load_explicit(&w->accepted, memory_order_acquire) - written);
}

static size_t room(const struct log_writer *w)
{
    return w->options.bytes - waiting(w) - w->reserved;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void put(struct log_writer *w, const char *record, size_t n)
{
    uint64_t at = atomic_load_explicit(&w->accepted, memory_order_relaxed);
    size_t place = (size_t)(at % w->options.bytes);
    size_t first = least(n, w->options.bytes - place);

    memcpy(w->buffer + place, record, first);
    memcpy(w->buffer, record + first, n - first);
    atomic_store_explicit(&w->accepted, at + n, memory_order_release);
    counter_add(&w->records, 1);
}

/* A record with its newline; its length.  Needs no lock. */
static size_t format(const struct log_writer *w, char *record, size_t size, enum log_level level,
                     const char *event, const struct log_field *fields)
{
    int n = log_format(record, (int)size - 1, clock_wall(), w->options.form, level, event, fields);

    record[n++] = '\n';
    return (size_t)n;
}

/* Bytes that must be free before records are accepted again. */
static size_t room_to_go_on(const struct log_writer *w)
{
    return w->dropping ? w->options.bytes / 4 : w->options.bytes / 4 * 3;
}

/* Once there is room enough, what was dropped is said. */
static void say_dropped(struct log_writer *w)
{
    char note[NOTE_MAX];

    if ((!w->dropping && !w->shedding) || room(w) < room_to_go_on(w))
        return;
    const struct log_field fields[] = {
        LOG_UINT("dropped", w->unsaid), LOG_UINT("in_all", counter_read(&w->dropped)), {0}};
    put(w, note, format(w, note, sizeof note, LOG_WARN, "log records dropped", fields));
    w->dropping = false;
    w->shedding = false;
    w->unsaid = 0;
}

static void drop(struct log_writer *w, bool debug)
{
    if (debug)
        w->shedding = true;
    else
        w->dropping = true;
    w->unsaid++;
    counter_add(&w->dropped, 1);
}

/* Half of the buffer is not for debug records, which are many: they push out nothing else. */
static void accept_or_drop(struct log_writer *w, enum log_level level, const char *record, size_t n)
{
    bool debug = level == LOG_DEBUG;

    say_dropped(w);
    size_t kept = debug ? w->options.bytes / 2 : 0;
    if (!w->dropping && !(debug && w->shedding) && room(w) >= n + kept)
        put(w, record, n);
    else
        drop(w, debug);
}

/* ---- whoever logs ---- */

static void unlock_and_wake(struct log_writer *w, bool needed)
{
    bool wake = needed && w->asleep;

    if (wake)
        w->asleep = false;
    pthread_mutex_unlock(&w->lock);
    if (wake)
        eventfd_write(w->wake, 1);
}

static void append(struct log_writer *w, enum log_level level, const char *event,
                   const struct log_field *fields)
{
    char record[LOG_RECORD_MAX];
    size_t n = format(w, record, sizeof record, level, event, fields);

    pthread_mutex_lock(&w->lock);
    accept_or_drop(w, level, record, n);
    unlock_and_wake(w, true);
}

static size_t format_sum(const struct log_writer *w, char *record, size_t size,
                         const struct log_sum *sum)
{
    const struct log_field fields[] = {LOG_STR("record", sum->event ? sum->event : "several"),
                                       LOG_STR("source", *sum->source ? sum->source : NULL),
                                       LOG_UINT("times", sum->times),
                                       LOG_NS("within", sum->within),
                                       {0}};

    return format(w, record, size, sum->level, "repeated", fields);
}

/* The first that is held lets the thread look at the clock. */
static bool admit(struct log_writer *w, enum log_level level, const char *event,
                  const struct log_field *fields)
{
    char source[LOG_SOURCE_MAX], record[NOTE_MAX * 2];
    struct log_sum sum;

    if (w->options.repeats == 0 || level == LOG_AUDIT || level == LOG_DEBUG)
        return true;
    log_source(fields, source);
    pthread_mutex_lock(&w->lock);
    uint32_t open = w->repeats.open;
    bool admitted = log_repeats_admit(&w->repeats, clock_coarse(), level, event, source, &sum);
    if (!admitted)
        counter_add(&w->repeated, 1);
    if (sum.times > 0)
        accept_or_drop(w, sum.level, record, format_sum(w, record, sizeof record, &sum));
    unlock_and_wake(w, w->repeats.open > open);
    return admitted;
}

static void log_later(void *arg, enum log_level level, const char *event,
                      const struct log_field *fields)
{
    struct log_writer *w = arg;
    int saved = errno;

    if (admit(w, level, event, fields))
        append(w, level, event, fields);
    errno = saved;
}

bool log_writer_reserve(struct log_writer *w)
{
    pthread_mutex_lock(&w->lock);
    bool good = room(w) >= LOG_RECORD_MAX;
    if (good)
        w->reserved += LOG_RECORD_MAX;
    pthread_mutex_unlock(&w->lock);
    return good;
}

void log_writer_release(struct log_writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->reserved -= LOG_RECORD_MAX;
    pthread_mutex_unlock(&w->lock);
}

void log_writer_put_reserved(struct log_writer *w, enum log_level level, const char *event,
                             const struct log_field *fields)
{
    char record[LOG_RECORD_MAX];
    size_t n = format(w, record, sizeof record, level, event, fields);

    pthread_mutex_lock(&w->lock);
    w->reserved -= LOG_RECORD_MAX;
    put(w, record, n);
    unlock_and_wake(w, true);
}

/* ---- the thread ---- */

/* Takes whole records, without giving their room back.  Their bytes; 0: there are none, and the
 * thread must sleep until `until`, or end. */
static size_t take_batch(struct log_writer *w, char *batch, uint64_t *until, bool *end)
{
    struct log_sum sum;
    char record[NOTE_MAX * 2];

    pthread_mutex_lock(&w->lock);
    say_dropped(w);
    while (log_repeats_due(&w->repeats, clock_coarse(), w->stopping, &sum))
        accept_or_drop(w, sum.level, record, format_sum(w, record, sizeof record, &sum));
    uint64_t from = atomic_load_explicit(&w->written, memory_order_relaxed);
    size_t n = least(waiting(w), BATCH_MAX), place = (size_t)(from % w->options.bytes);
    size_t first = least(n, w->options.bytes - place);
    memcpy(batch, w->buffer + place, first);
    memcpy(batch + first, w->buffer, n - first);
    *end = n == 0 && w->stopping;
    w->asleep = n == 0 && !w->stopping;
    *until = log_repeats_next(&w->repeats);
    pthread_mutex_unlock(&w->lock);
    while (n > 0 && batch[n - 1] != '\n')
        n--;
    return n;
}

static void count_lost(struct log_writer *w, const char *at, size_t n)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < n; i++)
        counter_add(&w->dropped, at[i] == '\n');
    pthread_mutex_unlock(&w->lock);
}

static bool can_wait(int error)
{
    return error == EINTR || error == EAGAIN;
}

static void sleep_until(struct log_writer *w, uint64_t until)
{
    struct pollfd awake = {.fd = w->wake, .events = POLLIN};
    uint64_t now = clock_coarse();
    int ms = -1;
    eventfd_t count;

    if (until != UINT64_MAX)
        ms = until > now ? (int)((until - now) / ns_per_ms) + 1 : 0;
    if (poll(&awake, 1, ms) > 0)
        eventfd_read(w->wake, &count);
}

/* The disk is full, perhaps.  True: the batch is tried again. */
static bool try_again(struct log_writer *w, int error, bool *told)
{
    char text[96];

    if (!w->options.keep)
        return false;
    if (!*told)
        log_error("records cannot be written; they wait, and what must be recorded is refused when "
                  "the buffer is full",
                  LOG_STR("reason", strerror_r(error, text, sizeof text)));
    *told = true;
    pthread_mutex_lock(&w->lock);
    bool again = !w->stopping;
    w->asleep = again;
    pthread_mutex_unlock(&w->lock);
    if (again)
        sleep_until(w, clock_coarse() + window);
    return again;
}

/* Waits for who reads.  What cannot be written at all has nobody left to tell. */
static void write_batch(struct log_writer *w, const char *batch, size_t n)
{
    struct pollfd out = {.fd = w->options.fd, .events = POLLOUT};
    bool told = false;

    for (size_t done = 0; done < n;) {
        if (poll(&out, 1, -1) <= 0)
            continue;
        ssize_t some = write(out.fd, batch + done, n - done);
        if (some > 0) {
            done += (size_t)some;
        } else if (some < 0 && !can_wait(errno) && !try_again(w, errno, &told)) {
            count_lost(w, batch + done, n - done);
            break;
        }
    }
    atomic_fetch_add_explicit(&w->written, n, memory_order_release);
}

static void *run(void *arg)
{
    struct log_writer *w = arg;
    char batch[BATCH_MAX];
    uint64_t until;
    bool end = false;

    pthread_setname_np(pthread_self(), "log");
    while (!end) {
        size_t n = take_batch(w, batch, &until, &end);
        if (n > 0)
            write_batch(w, batch, n);
        else if (!end)
            sleep_until(w, until);
    }
    sem_post(&w->ended);
    return NULL;
}

/* ---- the last record ----
 *
 * It may come from the handler of a signal, on a thread that holds the lock: nothing here takes it,
 * or waits without a limit. */

static uint64_t end_of_patience(void)
{
    return clock_monotonic() + LAST_PATIENCE_MS * ns_per_ms;
}

static void wait_until_written(const struct log_writer *w)
{
    uint64_t target = atomic_load_explicit(&w->accepted, memory_order_acquire);
    uint64_t end = end_of_patience();

    while (atomic_load_explicit(&w->written, memory_order_acquire) < target &&
           clock_monotonic() < end)
        poll(NULL, 0, 1);
}

static void log_now(void *arg, enum log_level level, const char *event,
                    const struct log_field *fields)
{
    const struct log_writer *w = arg;
    struct pollfd out = {.fd = w->options.fd, .events = POLLOUT};
    char record[LOG_RECORD_MAX];
    int saved = errno;

    if (!pthread_equal(pthread_self(), w->thread))
        wait_until_written(w);
    size_t n = format(w, record, sizeof record, level, event, fields);
    uint64_t end = end_of_patience();
    for (size_t done = 0; done < n && clock_monotonic() < end;) {
        if (poll(&out, 1, 1) <= 0)
            continue;
        ssize_t some = write(out.fd, record + done, n - done);
        if (some > 0)
            done += (size_t)some;
        else if (some < 0 && !can_wait(errno))
            break;
    }
    errno = saved;
}

/* ---- its life ---- */

static void show_figures(void *arg, struct log_figures *out)
{
    const struct log_writer *w = arg;

    *out = (struct log_figures){.records = counter_read(&w->records),
                                .repeated = counter_read(&w->repeated),
                                .dropped = counter_read(&w->dropped),
                                .waiting = waiting(w)};
}

struct log_sink log_writer_sink(struct log_writer *w)
{
    return (struct log_sink){.threshold = w->options.threshold,
                             .write = log_later,
                             .arg = w,
                             .write_last = log_now,
                             .figures = show_figures};
}

static void free_writer(struct log_writer *w)
{
    pthread_mutex_destroy(&w->lock);
    sem_destroy(&w->ended);
    close(w->wake);
    free(w);
}

struct log_writer *log_writer_new(const struct log_writer_options *options)
{
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (wake < 0)
        return NULL;
    struct log_writer *w = calloc(1, sizeof *w + options->bytes);
    if (!w) {
        close(wake);
        return NULL;
    }
    w->options = *options;
    w->wake = wake;
    log_repeats_init(&w->repeats, options->repeats, window);
    pthread_mutex_init(&w->lock, NULL);
    sem_init(&w->ended, 0, 0);
    int error = pthread_create(&w->thread, NULL, run, w);
    if (error != 0) {
        free_writer(w);
        errno = error;
        return NULL;
    }
    return w;
}

bool log_writer_stop(struct log_writer *w, uint64_t patience)
{
    const struct timespec until = clock_spec(clock_monotonic() + patience);
    int waited;

    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    unlock_and_wake(w, true);
    do
        waited = sem_clockwait(&w->ended, CLOCK_MONOTONIC, &until);
    while (waited != 0 && errno == EINTR);
    if (waited != 0)
        return false;
    pthread_join(w->thread, NULL);
    free_writer(w);
    return true;
}
