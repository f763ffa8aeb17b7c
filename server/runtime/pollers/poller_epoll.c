/* A poller over an epoll instance.
 *
 * It watches descriptors itself, without libevent: that takes 170 bytes for each, and here the
 * eight of a struct poller_watch are enough, since the system keeps the rest.  A connection that
 * is idle should cost little else than what the system takes for its socket.
 *
 * Deadlines come from a timerfd, since epoll_wait() counts milliseconds.  It and the eventfd for
 * wakes are edge-triggered and never read, which saves a system call a wake. */
#include <ergon/activator.h>
#include <ergon/poller.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A deadline that moved by less than this is the same deadline. */
#define TOLERANCE (AO_MS(1) / 2)

enum { EVENTS_A_POLL = 1024 /* more come with the next one */ };

struct poller_epoll {
    struct poller table; /* first member */
    int epoll;
    int eventfd, timerfd;
    struct poller_watch wake, deadline; /* of the two */
    struct poller_watcher on_wake, on_deadline;
    ao_time armed;                            /* of timerfd, monotonic ns; AO_NEVER: not armed */
    struct epoll_event events[EVENTS_A_POLL]; /* valid within poll() */
};

/* --- Deadlines --- */

/* `until` 0 disarms. */
static void set_timer(const struct poller_epoll *p, ao_time until)
{
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(until / AO_S(1)), .tv_nsec = (long)(until % AO_S(1))}};
    timerfd_settime(p->timerfd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void disarm(struct poller_epoll *p)
{
    if (p->armed == AO_NEVER)
        return;
    set_timer(p, 0);
    p->armed = AO_NEVER;
}

static bool near(ao_time x, ao_time y)
{
    return (x > y ? x - y : y - x) < TOLERANCE;
}

static void arm(struct poller_epoll *p, ao_time timeout)
{
    ao_time until = ao_clock_monotonic.now(NULL) + timeout;
    if (p->armed != AO_NEVER && near(p->armed, until))
        return;
    set_timer(p, until);
    p->armed = until;
}

/* --- Events --- */

static uint32_t to_epoll(unsigned what)
{
    return (what & POLLER_READ ? EPOLLIN : 0u) | (what & POLLER_WRITE ? EPOLLOUT : 0u) |
           (what & POLLER_CLOSED ? EPOLLRDHUP : 0u) | (what & POLLER_EDGES ? EPOLLET : 0u);
}

/* Errors, and the end of both directions, the next read or write finds out.  With EPOLLRDHUP the
 * peer's end was asked for, and is all that is told. */
static unsigned from_epoll(uint32_t events)
{
    if (events & EPOLLERR || (events & EPOLLHUP && !(events & EPOLLRDHUP)))
        return POLLER_READ | POLLER_WRITE;
    return (events & EPOLLIN ? POLLER_READ : 0u) | (events & EPOLLOUT ? POLLER_WRITE : 0u) |
           (events & EPOLLRDHUP ? POLLER_CLOSED : 0u);
}

bool poller_change(struct poller_watch *w, int fd, unsigned was, unsigned what)
{
    const struct poller_epoll *p = ao_of(w->watcher->poller, struct poller_epoll, table);
    struct epoll_event event = {.events = to_epoll(what), .data.ptr = w};
    int how = was == 0 ? EPOLL_CTL_ADD : what == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

    return was == what || epoll_ctl(p->epoll, how, fd, &event) == 0 || what == 0;
}

/* A wait of a century is without limit. */
#define FOR_EVER (AO_S(1) * 3155760000u)

static void poller_poll(struct poller *self, ao_time timeout)
{
    struct poller_epoll *p = ao_of(self, struct poller_epoll, table);
    if (timeout >= FOR_EVER)
        disarm(p);
    else if (timeout > 0)
        arm(p, timeout);
    int count = epoll_wait(p->epoll, p->events, EVENTS_A_POLL, timeout > 0 ? -1 : 0);
    for (int i = 0; i < count; i++) {
        struct poller_watch *w = p->events[i].data.ptr;
        w->watcher->on_event(w, from_epoll(p->events[i].events));
    }
}

static void poller_wake(struct poller *self)
{
    struct poller_epoll *p = ao_of(self, struct poller_epoll, table);
    eventfd_write(p->eventfd, 1);
}

/* --- Set-up and tear-down --- */

static void on_wake(struct poller_watch *w, unsigned what)
{
    (void)w;
    (void)what;
}

static void on_deadline(struct poller_watch *w, unsigned what)
{
    (void)what;
    ao_of(w, struct poller_epoll, deadline)->armed = AO_NEVER;
}

static bool watch_own(struct poller_epoll *p)
{
    p->on_wake = (struct poller_watcher){.poller = &p->table, .on_event = on_wake};
    p->on_deadline = (struct poller_watcher){.poller = &p->table, .on_event = on_deadline};
    p->wake.watcher = &p->on_wake;
    p->deadline.watcher = &p->on_deadline;
    return poller_change(&p->wake, p->eventfd, 0, POLLER_READ | POLLER_EDGES) &&
           poller_change(&p->deadline, p->timerfd, 0, POLLER_READ | POLLER_EDGES);
}

static bool set_up(struct poller_epoll *p)
{
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll >= 0)
        p->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->eventfd >= 0)
        p->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return p->timerfd >= 0 && watch_own(p);
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

struct poller *poller_epoll_new(void)
{
    struct poller_epoll *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->table = (struct poller){.poll = poller_poll, .wake = poller_wake};
    p->armed = AO_NEVER;
    p->epoll = p->eventfd = p->timerfd = -1;
    if (!set_up(p)) {
        int error = errno;
        poller_epoll_free(&p->table);
        errno = error;
        return NULL;
    }
    return &p->table;
}

void poller_epoll_free(struct poller *poller)
{
    if (!poller)
        return;
    struct poller_epoll *p = ao_of(poller, struct poller_epoll, table);
    close_fd(p->timerfd);
    close_fd(p->eventfd);
    close_fd(p->epoll);
    free(p);
}
