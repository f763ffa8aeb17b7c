/* A poller over an event_base.
 *
 * The base has no locks: only its thread touches it, and others write the eventfd.  The eventfd is
 * edge-triggered and never read, which saves a system call a wake.  No precise timers: libevent
 * 2.1.12 would set a timerfd in every turn for them. */
#include <ergon/activator.h>
#include <ergon/poller.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A deadline that moved by less than this is the same deadline. */
#define TOLERANCE (AO_MS(1) / 2)

/* A wait of a century is without limit; libevent cannot count much further. */
#define FOR_EVER (AO_S(1) * 3155760000u)

struct poller_libevent {
    struct poller table; /* first member */
    struct event_base *base;
    struct event wake;     /* the eventfd */
    struct event deadline; /* the end of a limited wait */
    ao_time armed;         /* of `deadline`, monotonic ns; AO_NEVER: not pending */
    int fd;
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

static void disarm(struct poller_libevent *p)
{
    if (p->armed == AO_NEVER)
        return;
    event_del(&p->deadline);
    p->armed = AO_NEVER;
}

static bool near(ao_time x, ao_time y)
{
    return (x > y ? x - y : y - x) < TOLERANCE;
}

/* False without memory. */
static bool arm(struct poller_libevent *p, ao_time timeout)
{
    ao_time until = ao_clock_monotonic.now(NULL) + timeout;
    if (p->armed != AO_NEVER && near(p->armed, until))
        return true;
    ao_time us = timeout / AO_US(1) + (timeout % AO_US(1) != 0);
    struct timeval tv = {.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};
    if (event_add(&p->deadline, &tv) != 0)
        return false;
    p->armed = until;
    return true;
}

/* A deadline that cannot be armed makes it return at once: the caller looks at its clock again. */
static bool may_wait(struct poller_libevent *p, ao_time timeout)
{
    if (timeout >= FOR_EVER) {
        disarm(p);
        return true;
    }
    return timeout > 0 && arm(p, timeout);
}

static void poller_poll(struct poller *self, ao_time timeout)
{
    struct poller_libevent *p = ao_of(self, struct poller_libevent, table);
    bool wait = may_wait(p, timeout);
    event_base_loop(p->base, wait ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static void poller_wake(struct poller *self)
{
    struct poller_libevent *p = ao_of(self, struct poller_libevent, table);
    eventfd_write(p->fd, 1);
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

static int set_up(struct poller_libevent *p)
{
    p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->fd < 0)
        return -1;
    p->base = new_base();
    if (!p->base)
        goto fail_fd;
    event_assign(&p->deadline, p->base, -1, 0, on_deadline, p);
    event_assign(&p->wake, p->base, p->fd, EV_READ | EV_PERSIST | EV_ET, on_wake, p);
    if (event_add(&p->wake, NULL) != 0)
        goto fail_base;
    return 0;
fail_base:
    event_base_free(p->base);
fail_fd:
    close(p->fd);
    errno = ENOMEM;
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
    disarm(p);
    event_del(&p->wake);
    event_base_free(p->base);
    close(p->fd);
    free(p);
}

struct event_base *poller_libevent_base(struct poller *poller)
{
    return ao_of(poller, struct poller_libevent, table)->base;
}
