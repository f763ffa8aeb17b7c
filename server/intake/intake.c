#include "server/intake/intake.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/intake/rows.h"
#include "server/runtime/thread.h"
#include "server/store/driver.h"

enum {
    POLL_MS = 20,          /* between two reads that found nothing... */
    POLL_SHARE = 20,       /* ...and so many times as long as the last one took */
    AWAY_MS = 1000,        /* until a node that does not own the tasks looks again */
    LATER_MS = 1000,       /* until rows that could not be taken are tried again... */
    SOON_MS = 100,         /* ...or so soon, if others of the same read could be */
    MISSING_MS = 30 * 1000 /* until it is looked again whether there is an inbox */
};

struct intake {
    const struct inbox_source *source;
    struct cluster *cluster;
    char *where;
    void *from; /* the source's; NULL: this node does not own the tasks */
    struct event *woken, *timer;
    int wake_fd, stop_fd;  /* eventfds: something has changed; the process stops */
    _Atomic bool stopping; /* relaxed: the eventfds wake, and nothing else is read by it */
    struct lines lines;
    struct rows rows;
    char said[480]; /* why nothing is read, as the log has it; empty: it is */
    pthread_t thread;
    bool running;
};

/* ---- waiting ---- */

static bool is_stopping(const struct intake *b)
{
    return atomic_load_explicit(&b->stopping, memory_order_relaxed);
}

/* The cluster's thread; the one that stops. */
static void wake(void *arg)
{
    const struct intake *b = arg;

    eventfd_write(b->wake_fd, 1);
}

static void take_wake(const struct intake *b)
{
    eventfd_t ignored;

    eventfd_read(b->wake_fd, &ignored);
}

/* Ends the round of the event loop in which it waits for an answer. */
static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    take_wake(arg);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

/* Until something has changed, or the time is over.  The event loop runs meanwhile, so that lines
 * which the server ends are closed at once: a stop waits for them. */
static void wait(struct intake *b, int ms)
{
    const struct timeval time = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

    if (!is_stopping(b) && event_add(b->timer, &time) == 0)
        event_base_loop(b->lines.gateway.base, EVLOOP_ONCE);
    event_del(b->timer);
    lines_sweep(&b->lines);
}

/* A read takes long where vacuum cannot remove what was taken. */
static void wait_for_rows(struct intake *b, ao_time took)
{
    ao_time share = took / AO_MS(1) * POLL_SHARE;

    wait(b, share < POLL_MS ? POLL_MS : share < AWAY_MS ? (int)share : AWAY_MS);
}

/* ---- a read ---- */

static bool add_row(void *arg, const struct inbox_row *row)
{
    return rows_add(arg, row);
}

/* The reason why it does not read is logged once, until it reads again. */
static void complain(struct intake *b, const char *why)
{
    if (strcmp(b->said, why) == 0)
        return;
    snprintf(b->said, sizeof b->said, "%s", why);
    log_warn("submissions of applications are not taken over", LOG_STR("why", why));
}

/* False: it stays, and is refused again later. */
static bool refuse(struct intake *b, const struct row *row, uint64_t epoch)
{
    char error[480];

    if (cluster_role(b->cluster) != CLUSTER_OWNER)
        return false;
    log_warn("submission of an application refused", LOG_UINT("row", row->id),
             LOG_STR("role", row->role), LOG_STR("method", row->method), LOG_STR("why", row->why));
    if (b->source->refuse(b->from, epoch, row->id, row->why, error, sizeof error) == INBOX_DONE)
        return true;
    complain(b, error);
    return false;
}

/* Returns after how many ms it is to be read again; 0: at once. */
static int take(struct intake *b, uint64_t epoch)
{
    uint32_t later = 0;

    rows_submit(&b->rows, &b->lines);
    for (uint32_t i = 0; i < b->rows.count; i++) {
        const struct row *row = &b->rows.at[i];
        later += row->end == ROW_LATER || (row->end == ROW_REFUSED && !refuse(b, row, epoch));
    }
    int pause = later == 0 ? 0 : later == b->rows.count ? LATER_MS : SOON_MS;
    rows_clear(&b->rows);
    return pause;
}

static void read_some(struct intake *b, uint64_t epoch)
{
    char error[480] = "";
    ao_time began = clock_monotonic();
    enum inbox_result result = b->source->read(b->from, add_row, &b->rows, error, sizeof error);

    if (result != INBOX_DONE) {
        rows_clear(&b->rows);
        complain(b, error);
        wait(b, result == INBOX_MISSING ? MISSING_MS : LATER_MS);
        return;
    }
    b->said[0] = '\0';
    if (b->rows.count == 0) {
        wait_for_rows(b, clock_monotonic() - began);
        return;
    }
    int pause = take(b, epoch);
    if (pause > 0)
        wait(b, pause);
}

/* ---- the thread ---- */

/* A node that does not own the tasks has no connections for them. */
static void leave(struct intake *b)
{
    lines_close(&b->lines);
    if (b->from)
        b->source->close(b->from);
    b->from = NULL;
}

static void *run(void *arg)
{
    struct intake *b = arg;
    struct cluster_view view;

    thread_settle("intake", -1, 0);
    while (!is_stopping(b)) {
        cluster_view(b->cluster, &view);
        if (view.role == CLUSTER_OWNER && !b->from)
            b->from = b->source->open(b->where, b->stop_fd);
        if (view.role == CLUSTER_OWNER && b->from) {
            read_some(b, view.epoch);
        } else {
            leave(b);
            wait(b, AWAY_MS);
        }
    }
    leave(b);
    return NULL;
}

/* ---- set-up ---- */

static bool open_events(struct intake *b)
{
    b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->lines.gateway.base = event_base_new();
    if (b->wake_fd < 0 || b->stop_fd < 0 || !b->lines.gateway.base)
        return false;
    b->woken = event_new(b->lines.gateway.base, b->wake_fd, EV_READ | EV_PERSIST, on_wake, b);
    b->timer = evtimer_new(b->lines.gateway.base, on_time, b);
    return b->woken && b->timer && event_add(b->woken, NULL) == 0;
}

static int listen_inside(struct intake *b, struct acceptor *acceptor, char *error, size_t size)
{
    static const struct url here = {.scheme = URL_UNIX, .path = "/inbox"};
    const struct listener_options options = {.auth = LISTENER_AUTH_DATABASE,
                                             .idle_timeout = AO_NEVER};
    int index = acceptor_listen_inside(acceptor, &here, &options, error, size);

    b->lines.listener = (uint32_t)index;
    return index < 0 ? -1 : 0;
}

struct intake *intake_new(const struct intake_options *options, char *error, size_t size)
{
    struct intake *b = calloc(1, sizeof *b);

    if (!b) {
        snprintf(error, size, "no memory for the inbox");
        return NULL;
    }
    *b = (struct intake){
        .source = options->source,
        .cluster = options->cluster,
        .wake_fd = -1,
        .stop_fd = -1,
        .lines = {.stopping = &b->stopping,
                  .gateway = {.acceptor = options->acceptor, .scan = options->scan}}};
    snprintf(error, size, "no memory or no descriptor for the inbox");
    if (open_events(b) && listen_inside(b, options->acceptor, error, size) == 0) {
        b->where = strdup(options->where);
        cluster_on_change(options->cluster, wake, b);
        if (b->where)
            return b;
    }
    intake_free(b);
    return NULL;
}

int intake_start(struct intake *b)
{
    int error = thread_start_undisturbed(&b->thread, run, b);

    b->running = error == 0;
    return error;
}

void intake_stop(struct intake *b)
{
    if (!b || !b->running)
        return;
    atomic_store_explicit(&b->stopping, true, memory_order_relaxed);
    eventfd_write(b->stop_fd, 1);
    wake(b);
    pthread_join(b->thread, NULL);
    b->running = false;
}

void intake_free(struct intake *b)
{
    if (!b)
        return;
    if (b->woken)
        event_free(b->woken);
    if (b->timer)
        event_free(b->timer);
    if (b->lines.gateway.base)
        event_base_free(b->lines.gateway.base);
    if (b->wake_fd >= 0)
        close(b->wake_fd);
    if (b->stop_fd >= 0)
        close(b->stop_fd);
    free(b->where);
    free(b);
}
