/* A poller over an event_base.
 *
 * The base has no locks: only its thread touches it, and others write the eventfd.  Deadlines come
 * from a timerfd, not from libevent's timeouts: those go by the coarse clock, come up to 4 ms late
 * here, and cost three or four short waits each (its precise ones set a timerfd in every turn).
 * Both descriptors are edge-triggered and never read, which saves a system call a wake. */
#include <ergon/activator.h>
#include <ergon/poller.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* A deadline that moved by less than this is the same deadline. */
#define TOLERANCE (AO_MS(1) / 2)

struct poller_libevent {
    struct poller table; /* first member */
    struct event_base *base;
    struct event wake, deadline; /* the two descriptors */
    int eventfd, timerfd;
    ao_time armed; /* of timerfd, monotonic ns; AO_NEVER: not armed */
};

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

static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    if (!config)
        return NULL;
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV);
    struct event_base *base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static int watch(struct poller_libevent *p, struct event *event, int fd, event_callback_fn callback)
{
    event_assign(event, p->base, fd, EV_READ | EV_PERSIST | EV_ET, callback, p);
    return event_add(event, NULL);
}

static int set_up(struct poller_libevent *p)
{
    p->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->eventfd < 0)
        return -1;
    p->timerfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (p->timerfd < 0)
        goto fail_eventfd;
    p->base = new_base();
    if (!p->base)
        goto fail_timerfd;
    if (watch(p, &p->wake, p->eventfd, on_wake) != 0 ||
        watch(p, &p->deadline, p->timerfd, on_deadline) != 0)
        goto fail_base;
    return 0;
fail_base:
    event_base_free(p->base);
    errno = ENOMEM;
fail_timerfd:
    close(p->timerfd);
fail_eventfd:
    close(p->eventfd);
    return -1;
}

struct poller *poller_libevent_new(void)
{
    struct poller_libevent *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->table = (struct poller){.poll = poller_poll, .wake = poller_wake};
    p->armed = AO_NEVER;
    if (set_up(p) != 0) {
        int error = errno;
        free(p);
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
    event_del(&p->deadline);
    event_del(&p->wake);
    event_base_free(p->base);
    close(p->timerfd);
    close(p->eventfd);
    free(p);
}

struct event_base *poller_libevent_base(struct poller *poller)
{
    return ao_of(poller, struct poller_libevent, table)->base;
}
