/* Both pollers keep the same contract: block, end by a wake, end by the timeout. */
#include <stdlib.h>
#include <string.h>

#include <ergon/activator.h>
#include <ergon/poller.h>

#include <event2/event.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

static ao_time now(void)
{
    return ao_clock_monotonic.now(NULL);
}

static void check_wake_before_the_poll(struct poller *p)
{
    p->wake(p);
    p->wake(p);
    p->poll(p, AO_NEVER); /* returns */
}

static void *wake_from_outside(void *arg)
{
    struct poller *p = arg;
    p->wake(p);
    return NULL;
}

static void check_wake_from_another_thread(struct poller *p)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wake_from_outside, p), 0);
    p->poll(p, AO_NEVER);
    pthread_join(thread, NULL);
}

/* It may return early, never much too early; the end of the wait is the caller's to judge. */
static void check_timeout(struct poller *p)
{
    ao_time end = now() + AO_MS(12);
    while (now() < end)
        p->poll(p, end - now());
    p->poll(p, 0);
}

static void check(struct poller *p)
{
    assert_non_null(p);
    p->poll(p, 0);
    check_wake_before_the_poll(p);
    check_wake_from_another_thread(p);
    check_timeout(p);
    check_wake_before_the_poll(p);
}

TEST(eventfd)
{
    struct poller *p = poller_eventfd_new();
    check(p);
    poller_eventfd_free(p);
    poller_eventfd_free(NULL);
}

TEST(libevent)
{
    struct poller *p = poller_libevent_new();
    check(p);
    poller_libevent_free(p);
    poller_libevent_free(NULL);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    char byte;
    assert_int_equal(read(fd, &byte, 1), 1);
    ++*(int *)arg;
}

TEST(libevent_runs_events_of_its_base)
{
    int fds[2], seen = 0;
    struct poller *p = poller_libevent_new();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct event *e =
        event_new(poller_libevent_base(p), fds[0], EV_READ | EV_PERSIST, on_readable, &seen);
    event_add(e, NULL);
    p->poll(p, 0);
    assert_int_equal(seen, 0);
    assert_int_equal(write(fds[1], "xy", 2), 2);
    p->poll(p, 0);
    assert_int_equal(seen, 1);
    p->poll(p, AO_NEVER);
    assert_int_equal(seen, 2);
    event_free(e);
    close(fds[0]);
    close(fds[1]);
    poller_libevent_free(p);
}

static int open_eventfd(void *arg)
{
    struct poller *p = poller_eventfd_new();
    poller_eventfd_free(p);
    return p ? 0 : -1;
}

static int open_libevent(void *arg)
{
    struct poller *p = poller_libevent_new();
    poller_libevent_free(p);
    return p ? 0 : -1;
}

TEST(without_memory)
{
    heap_fail_each(open_eventfd, NULL);
    heap_fail_each(open_libevent, NULL);
}
