/* Both pollers keep the same contract: block, end by a wake, end by the timeout. */
#include <stdlib.h>
#include <string.h>

#include <ergon/activator.h>
#include <ergon/poller.h>

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

/* --- Descriptors that are watched --- */

static struct {
    struct poller *poller;
    struct poller_watcher watcher;
    struct poller_watch watch;
    int fds[2];
    unsigned times, what; /* on_event was called, and with what last */
} watched;

static void note_event(struct poller_watch *w, unsigned what)
{
    assert_ptr_equal(w, &watched.watch);
    watched.times++;
    watched.what = what;
}

static int open_pair(void **state)
{
    watched.times = watched.what = 0;
    watched.poller = poller_libevent_new();
    watched.watcher = (struct poller_watcher){.poller = watched.poller, .on_event = note_event};
    watched.watch.watcher = &watched.watcher;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, watched.fds);
}

static int close_pair(void **state)
{
    close(watched.fds[0]);
    if (watched.fds[1] >= 0)
        close(watched.fds[1]);
    poller_libevent_free(watched.poller);
    return 0;
}

#define PAIR_TEST(name) TEST_WITH(open_pair, close_pair, name)

static void change(unsigned was, unsigned what)
{
    assert_true(poller_change(&watched.watch, watched.fds[0], was, what));
}

static void poll_expecting(unsigned times, unsigned what)
{
    watched.times = watched.what = 0;
    watched.poller->poll(watched.poller, 0);
    assert_int_equal(watched.times, times);
    assert_int_equal(watched.what, what);
}

PAIR_TEST(what_holds_is_told_for_as_long_as_it_holds)
{
    char bytes[2];

    change(0, POLLER_READ);
    poll_expecting(0, 0);
    assert_int_equal(write(watched.fds[1], "xy", 2), 2);
    poll_expecting(1, POLLER_READ);
    poll_expecting(1, POLLER_READ);
    change(POLLER_READ, POLLER_READ | POLLER_WRITE);
    poll_expecting(1, POLLER_READ | POLLER_WRITE);
    assert_int_equal(read(watched.fds[0], bytes, 2), 2);
    poll_expecting(1, POLLER_WRITE);
    change(POLLER_READ | POLLER_WRITE, 0);
    poll_expecting(0, 0);
}

PAIR_TEST(by_edges_it_is_told_once)
{
    change(0, POLLER_WRITE | POLLER_EDGES);
    poll_expecting(1, POLLER_WRITE);
    poll_expecting(0, 0);
    change(POLLER_WRITE | POLLER_EDGES, POLLER_WRITE);
    poll_expecting(1, POLLER_WRITE);
}

PAIR_TEST(the_peers_end_is_told_to_who_asks)
{
    change(0, POLLER_CLOSED);
    poll_expecting(0, 0);
    shutdown(watched.fds[1], SHUT_WR);
    poll_expecting(1, POLLER_CLOSED);
    change(POLLER_CLOSED, POLLER_READ);
    poll_expecting(1, POLLER_READ);
}

PAIR_TEST(an_error_is_told_as_what_reads_and_writes_can)
{
    change(0, POLLER_READ);
    assert_int_equal(write(watched.fds[0], "x", 1), 1);
    close(watched.fds[1]); /* with unread input: a reset */
    watched.fds[1] = -1;
    poll_expecting(1, POLLER_READ | POLLER_WRITE);
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
