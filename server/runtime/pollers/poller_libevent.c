/* A poller over an event_base.
 *
 * The base has no locks: only its thread uses it, and other threads write the eventfd.  Deadlines
 * come from a timerfd, and not from libevent's timeouts.  These use the coarse clock, are up to 4
 * ms late, and cost three or four short waits each; its precise timeouts set a timerfd in every
 * turn.  Both descriptors are edge-triggered and never read, which saves a system call per wake-up.
 *
 * All watched descriptors are in an epoll set, which is one event of the base.  An event for each
 * would take 170 bytes (its struct, the entry of its descriptor, a place in the base's table); a
 * struct poller_watch takes eight, since the system keeps the rest.  So an idle connection costs
 * little beyond what the system needs.  The price is one more system call in a poll that finds such
 * a descriptor ready. */
#include <ergon/activator.h>
#include <ergon/poller.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A deadline that moved by less than this is the same deadline. */
#define TOLERANCE (AO_MS(1) / 2)

enum { EVENTS_A_POLL = 1024 /* more come with the next one */ };

struct poller_libevent {
    struct poller table; /* first member */
    struct event_base *base;
    struct event wake, deadline, watched; /* of the three descriptors */
    int eventfd, timerfd;
    int set;       /* epoll: the descriptors that are watched for others */
    ao_time armed; /* of timerfd, monotonic ns; AO_NEVER: not armed */
    struct epoll_event events[EVENTS_A_POLL]; /* valid within on_watched() */
};

/* --- Deadlines --- */

/* `until` 0 disarms. */
static void set_timer(const struct poller_libevent *p, ao_time until)
{
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(until / AO_S(1)), .tv_nsec = (long)(until % AO_S(1))}};
    timerfd_settime(p->timerfd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void disarm(struct poller_libevent *p)
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

static void arm(struct poller_libevent *p, ao_time timeout)
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

/* The next read or write reports errors, and the end of both directions.  With EPOLLRDHUP the
 * caller asked for the end of the peer only, and gets nothing else. */
static unsigned from_epoll(uint32_t events)
{
    if (events & EPOLLERR || (events & EPOLLHUP && !(events & EPOLLRDHUP)))
        return POLLER_READ | POLLER_WRITE;
    return (events & EPOLLIN ? POLLER_READ : 0u) | (events & EPOLLOUT ? POLLER_WRITE : 0u) |
           (events & EPOLLRDHUP ? POLLER_CLOSED : 0u);
}

bool poller_change(struct poller_watch *w, int fd, unsigned was, unsigned what)
{
    const struct poller_libevent *p = ao_of(w->watcher->poller, struct poller_libevent, table);
    struct epoll_event event = {.events = to_epoll(what), .data.ptr = w};
    int how = was == 0 ? EPOLL_CTL_ADD : what == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;

    return was == what || epoll_ctl(p->set, how, fd, &event) == 0 || what == 0;
}

/* A wait of a century is without limit. */
#define FOR_EVER (AO_S(1) * 3155760000u)

static void poller_poll(struct poller *self, ao_time timeout)
{
    struct poller_libevent *p = ao_of(self, struct poller_libevent, table);
    if (timeout >= FOR_EVER)
        disarm(p);
    else if (timeout > 0)
        arm(p, timeout);
    event_base_loop(p->base, timeout > 0 ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void poller_wake(struct poller *self)
{
    struct poller_libevent *p = ao_of(self, struct poller_libevent, table);
    eventfd_write(p->eventfd, 1);
}

/* --- Set-up and tear-down --- */

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct poller_libevent *p = arg;
    (void)fd;
    (void)what;
    p->armed = AO_NEVER;
}

/* What does not fit comes with the next poll: the set is level-triggered. */
static void on_watched(evutil_socket_t fd, short what, void *arg)
{
    struct poller_libevent *p = arg;
    (void)what;
    int count = epoll_wait(fd, p->events, EVENTS_A_POLL, 0);
    for (int i = 0; i < count; i++) {
        struct poller_watch *w = p->events[i].data.ptr;
        w->watcher->on_event(w, from_epoll(p->events[i].events));
    }
}

static bool open_base(struct poller_libevent *p)
{
    struct event_config *config = event_config_new();
    if (!config)
        return false;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
    p->base = event_base_new_with_config(config);
    event_config_free(config);
    return p->base != NULL;
}

static bool add(struct poller_libevent *p, struct event *event, int fd, short how,
                event_callback_fn callback)
{
    event_assign(event, p->base, fd, (short)(EV_READ | EV_PERSIST | how), callback, p);
    return event_add(event, NULL) == 0;
}

static bool set_up(struct poller_libevent *p)
{
    p->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    p->set = epoll_create1(EPOLL_CLOEXEC);
    if (p->eventfd < 0 || p->timerfd < 0 || p->set < 0)
        return false;
    if (open_base(p) && add(p, &p->wake, p->eventfd, EV_ET, on_wake) &&
        add(p, &p->deadline, p->timerfd, EV_ET, on_deadline) &&
        add(p, &p->watched, p->set, 0, on_watched))
        return true;
    errno = ENOMEM;
    return false;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

struct poller *poller_libevent_new(void)
{
    struct poller_libevent *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->table = (struct poller){.poll = poller_poll, .wake = poller_wake};
    p->armed = AO_NEVER;
    p->set = p->eventfd = p->timerfd = -1;
    if (!set_up(p)) {
        int error = errno;
        poller_libevent_free(&p->table);
        errno = error;
        return NULL;
    }
    return &p->table;
}

void poller_libevent_free(struct poller *poller)
{
    if (!poller)
        return;
    struct poller_libevent *p = ao_of(poller, struct poller_libevent, table);
    if (p->base != NULL)
        event_base_free(p->base); /* its events are ours, and go with it */
    close_fd(p->set);
    close_fd(p->timerfd);
    close_fd(p->eventfd);
    free(p);
}
