/* Producers publish, a consumer sleeps without limit whenever it sees nothing.  A lost wake-up is a
 * test that does not end. */
#include <stdlib.h>

#include <pthread.h>

#include <ergon/activator.h>
#include <ergon/poller.h>
#include <sched.h>

#include "server/runtime/threads/waker.h"
#include "tests/support/cmocka_env.h"

enum { PRODUCERS = 2, ITEMS = 20000 };

struct input {
    _Atomic uint32_t published; /* release: producer; acquire: consumer */
    _Atomic uint32_t taken;     /* release: consumer; acquire: producer */
};

struct shared {
    struct input inputs[PRODUCERS];
    struct waker waker;
    struct poller *poller;
    uint64_t sleeps, sent[PRODUCERS];
    int next;     /* number of the next producer thread */
    bool in_step; /* a producer waits until its item was taken, so that the consumer sleeps often */
};

struct producer {
    struct shared *shared;
    int number;
};

static void wake(void *arg)
{
    struct poller *poller = arg;
    poller->wake(poller);
}

static void *produce(void *arg)
{
    struct producer *p = arg;
    struct input *in = &p->shared->inputs[p->number];
    for (uint32_t n = 1; n <= ITEMS; n++) {
        atomic_store_explicit(&in->published, n, memory_order_release);
        p->shared->sent[p->number] += waker_notify(&p->shared->waker);
        while (p->shared->in_step && atomic_load_explicit(&in->taken, memory_order_acquire) != n)
            sched_yield();
    }
    return NULL;
}

static bool look(struct shared *s)
{
    for (int i = 0; i < PRODUCERS; i++)
        if (atomic_load_explicit(&s->inputs[i].published, memory_order_acquire) !=
            atomic_load_explicit(&s->inputs[i].taken, memory_order_relaxed))
            return true;
    return false;
}

static uint32_t take(struct shared *s)
{
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < PRODUCERS; i++) {
        uint32_t n = atomic_load_explicit(&s->inputs[i].published, memory_order_acquire);
        atomic_store_explicit(&s->inputs[i].taken, n, memory_order_release);
        least = n < least ? n : least;
    }
    return least;
}

static void consume(struct shared *s)
{
    while (take(s) < ITEMS) {
        waker_announce(&s->waker);
        if (!look(s)) {
            s->sleeps++;
            s->poller->poll(s->poller, AO_NEVER);
        }
        waker_retract(&s->waker);
    }
}

static void run(bool in_step)
{
    struct shared s = {.in_step = in_step, .poller = poller_eventfd_new()};
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    uint64_t sent = 0;
    waker_init(&s.waker, wake, s.poller);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){&s, i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    consume(&s);
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        sent += s.sent[i];
    }
    /* At most one wake for an announcement; announcements that did not sleep count too. */
    assert_true(sent <= (uint64_t)2 * PRODUCERS * ITEMS);
    poller_eventfd_free(s.poller);
}

TEST(one_item_at_a_time)
{
    run(true);
}

TEST(flood)
{
    run(false);
}
