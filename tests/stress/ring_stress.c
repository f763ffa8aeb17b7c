/* Two threads, one ring: every item arrives once, in order, whatever the batches. */
#include <stdlib.h>

#include <pthread.h>
#include <stdatomic.h>

#include <sched.h>

#include "server/runtime/threads/ring.h"
#include "tests/support/cmocka_env.h"

/* On a busy machine each yield may cost a time slice of every process that wants the processor, and
 * a small ring needs one for every few items: then fewer items have to do.  Only yields behind
 * which the ring moved count, so the producer never gives up before the consumer has begun. */
enum { ITEMS = 500000, LOOKS = 100 /* before a yield */, YIELDS = 5000 };

struct shared {
    struct ring ring;
    _Atomic uintptr_t last; /* item; 0: not known yet.  Relaxed: the items come by the ring. */
    uint64_t wrong;         /* consumer's */
};

/* After a look in vain; returns how many there were since the last yield. */
static uint32_t wait_a_little(uint32_t looks)
{
    if (looks < LOOKS)
        return looks + 1;
    sched_yield();
    return 0;
}

static uint32_t next_batch(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 24) % 9 + 1;
}

static void *produce(void *arg)
{
    struct shared *s = arg;
    uint32_t seed = 1;
    uintptr_t n = 1, at_yield = 0;
    uint32_t looks = 0, yields = 0;
    while (n <= ITEMS && yields < YIELDS) {
        uint32_t batch = next_batch(&seed);
        while (batch-- > 0 && n <= ITEMS && ring_stage(&s->ring, (void *)n))
            n++;
        if (!ring_flush(&s->ring)) {
            looks = wait_a_little(looks);
            yields += looks == 0 && n > at_yield;
            at_yield = looks == 0 ? n : at_yield;
        }
    }
    atomic_store_explicit(&s->last, n - 1, memory_order_relaxed);
    return NULL;
}

static void *consume(void *arg)
{
    struct shared *s = arg;
    uint32_t seed = 2, looks = 0;
    uintptr_t n = 1;
    while (atomic_load_explicit(&s->last, memory_order_relaxed) != n - 1 || n == 1) {
        uint32_t batch = next_batch(&seed);
        void *item = NULL;
        while (batch-- > 0 && (item = ring_take(&s->ring)))
            s->wrong += (uintptr_t)item != n++;
        ring_release(&s->ring);
        if (!item)
            looks = wait_a_little(looks);
    }
    return NULL;
}

static void run(uint32_t capacity)
{
    struct shared s = {.last = 0};
    pthread_t producer, consumer;
    assert_int_equal(ring_init(&s.ring, capacity), 0);
    assert_int_equal(pthread_create(&producer, NULL, produce, &s), 0);
    assert_int_equal(pthread_create(&consumer, NULL, consume, &s), 0);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    assert_int_equal(s.wrong, 0);
    assert_true(atomic_load(&s.last) >= YIELDS);
    assert_false(ring_ready(&s.ring));
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
