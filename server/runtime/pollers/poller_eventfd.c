/* A poller that only waits: one eventfd in an epoll set, edge-triggered and never read.  A sleep is
 * one system call, and a wake-up another; between sleeps there is none. */
#include <ergon/poller.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct poller_eventfd {
    struct poller table; /* first member */
    int epoll;
    int event;
};

/* Rounded up, since waking early would cost a useless round. */
static int to_ms(ao_time timeout)
{
    if (timeout > AO_MS(INT_MAX - 1))
        return timeout == AO_NEVER ? -1 : INT_MAX;
    return (int)((timeout + AO_MS(1) - 1) / AO_MS(1));
}

/* Nothing but a wake can be ready here, so that a look without waiting is not worth a call: the
 * edge stays for the next one that waits. */
static void poller_poll(struct poller *self, ao_time timeout)
{
    struct poller_eventfd *p = ao_of(self, struct poller_eventfd, table);
    struct epoll_event event;
    if (timeout != 0)
        epoll_wait(p->epoll, &event, 1, to_ms(timeout));
}

/* The counter would have to be written 2^64 - 1 times to make this block. */
static void poller_wake(struct poller *self)
{
    struct poller_eventfd *p = ao_of(self, struct poller_eventfd, table);
    eventfd_write(p->event, 1);
}

static int set_up(struct poller_eventfd *p)
{
    p->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (p->epoll < 0)
        return -1;
    p->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->event < 0)
        goto fail_epoll;
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    if (epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->event, &event) != 0)
        goto fail_event;
    return 0;
fail_event:
    close(p->event);
fail_epoll:
    close(p->epoll);
    return -1;
}

struct poller *poller_eventfd_new(void)
{
    struct poller_eventfd *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    p->table = (struct poller){.poll = poller_poll, .wake = poller_wake};
    if (set_up(p) != 0) {
        int error = errno;
        free(p);
        errno = error;
        return NULL;
    }
    return &p->table;
}

void poller_eventfd_free(struct poller *poller)
{
    if (!poller)
        return;
    struct poller_eventfd *p = ao_of(poller, struct poller_eventfd, table);
    close(p->event);
    close(p->epoll);
    free(p);
}
