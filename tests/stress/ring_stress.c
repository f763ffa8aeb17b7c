/* Two threads, one ring: every item arrives once, in order, whatever the batches. */
#include <stdlib.h>

#include <pthread.h>

#include <sched.h>

#include "server/runtime/threads/ring.h"
#include "tests/support/cmocka_env.h"

enum { ITEMS = 500000 };

struct shared {
    struct ring ring;
    uint64_t wrong; /* consumer's */
};

static uint32_t next_batch(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 24) % 9 + 1;
}

static void *produce(void *arg)
{
    struct shared *s = arg;
    uint32_t seed = 1;
    uintptr_t n = 1;
    while (n <= ITEMS) {
        uint32_t batch = next_batch(&seed);
        while (batch-- > 0 && n <= ITEMS && ring_stage(&s->ring, (void *)n))
            n++;
        if (!ring_flush(&s->ring))
            sched_yield();
    }
    return NULL;
}

static void *consume(void *arg)
{
    struct shared *s = arg;
    uint32_t seed = 2;
    for (uintptr_t n = 1; n <= ITEMS;) {
        uint32_t batch = next_batch(&seed);
        void *item = NULL;
        while (batch-- > 0 && (item = ring_take(&s->ring)))
            s->wrong += (uintptr_t)item != n++;
        ring_release(&s->ring);
        if (!item)
            sched_yield();
    }
    return NULL;
}

static void run(uint32_t capacity)
{
    struct shared s = {.wrong = 0};
    pthread_t producer, consumer;
    assert_int_equal(ring_init(&s.ring, capacity), 0);
    assert_int_equal(pthread_create(&producer, NULL, produce, &s), 0);
    assert_int_equal(pthread_create(&consumer, NULL, consume, &s), 0);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    assert_int_equal(s.wrong, 0);
    assert_true(ring_validate(&s.ring));
    ring_fini(&s.ring);
}

TEST(small_ring)
{
    run(4);
}

TEST(large_ring)
{
    run(1024);
}
