/* Two threads, one ring: every item arrives once, in order, whatever the batches.  Of a ring whose
 * producer takes items back, it or the consumer gets each, and never both. */
#include <stdlib.h>

#include <pthread.h>
#include <stdatomic.h>

#include <sched.h>

#include <ergon/ao.h>

#include "base/clock.h"
#include "server/runtime/threads/ring.h"
#include "tests/support/cmocka_env.h"

/* On a busy machine each yield may cost a time slice of every process that wants the processor, and
 * a small ring needs one for every few items: then fewer items have to do.  Only yields behind
 * which the ring moved count, so the producer never gives up before the consumer has begun. */
enum {
    ITEMS = 500000,
    LOOKS = 100, /* before a yield */
    YIELDS = 5000,
    YIELDS_LEAST = 100, /* of a producer that has waited for so long */
    PATIENCE_S = 20
};

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

/* Of a producer. */
struct patience {
    uint32_t looks, yields, most;
    uintptr_t at_yield;
    uint64_t began;
    bool over;
};

/* After a look in vain, with so many items staged. */
static void be_patient(struct patience *p, uintptr_t n)
{
    p->looks = wait_a_little(p->looks);
    if (p->looks > 0)
        return;
    p->yields += n > p->at_yield;
    p->at_yield = n;
    p->over = p->yields >= p->most ||
              (p->yields >= YIELDS_LEAST && clock_monotonic() - p->began > AO_S(PATIENCE_S));
}

static uint32_t next_batch(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 24) % 9 + 1;
}

static void *produce(void *arg)
{
    struct shared *s = arg;
    struct patience patience = {.most = YIELDS, .began = clock_monotonic()};
    uint32_t seed = 1;
    uintptr_t n = 1;
    while (n <= ITEMS && !patience.over) {
        uint32_t batch = next_batch(&seed);
        while (batch-- > 0 && n <= ITEMS && ring_stage(&s->ring, (void *)n))
            n++;
        if (!ring_flush(&s->ring))
            be_patient(&patience, n);
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
    assert_true(atomic_load(&s.last) >= YIELDS_LEAST);
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

/* --- A producer that takes items back --- */

enum { GIVEN = 200000 };

struct contest {
    struct ring ring;
    uint8_t *got;       /* times, by item; of whoever got it */
    _Atomic bool ended; /* nothing more comes.  Release, acquire: with the last `tail` */
    _Atomic bool begun; /* something was claimed.  Relaxed: nothing else is read with it */
    uint64_t given, claimed, back;
};

/* Takes back all that it can of the last few, and gives them up.  Not before the other has begun,
 * or it might get none. */
static void take_some_back(struct contest *c, uint32_t batch)
{
    for (uint32_t n = 0; n < batch && n < ring_used(&c->ring); n++) {
        uintptr_t item = (uintptr_t)ring_take_back(&c->ring, n);
        if (item == 0)
            continue;
        c->got[item]++;
        c->back++;
    }
}

static void *give_and_take_back(void *arg)
{
    struct contest *c = arg;
    struct patience patience = {.most = UINT32_MAX, .began = clock_monotonic()};
    uint32_t seed = 3;
    uintptr_t n = 1;
    while (n <= GIVEN && !patience.over) {
        uint32_t batch = next_batch(&seed);
        for (; batch > 0 && n <= GIVEN && ring_stage(&c->ring, (void *)n); batch--)
            n++;
        bool begun = atomic_load_explicit(&c->begun, memory_order_relaxed);
        if (!ring_flush(&c->ring))
            be_patient(&patience, begun ? n : 0);
        if (next_batch(&seed) % 2 == 0 && begun)
            take_some_back(c, next_batch(&seed));
    }
    c->given = n - 1;
    atomic_store_explicit(&c->ended, true, memory_order_release);
    return NULL;
}

static void *claim(void *arg)
{
    struct contest *c = arg;
    uint32_t looks = 0;
    for (bool ended = false;;) {
        ended = atomic_load_explicit(&c->ended, memory_order_acquire);
        uintptr_t item = (uintptr_t)ring_claim(&c->ring);
        ring_release(&c->ring);
        if (item != 0) {
            c->got[item]++;
            c->claimed++;
            atomic_store_explicit(&c->begun, true, memory_order_relaxed);
        } else if (ended) {
            return NULL;
        } else {
            looks = wait_a_little(looks);
        }
    }
}

/* Exactly one of the two had each item: both write into `got` without an order between them. */
static void contend(uint32_t capacity)
{
    struct contest c = {.got = calloc(GIVEN + 1, 1)};
    pthread_t producer, consumer;
    assert_non_null(c.got);
    assert_int_equal(ring_init(&c.ring, capacity), 0);
    assert_int_equal(pthread_create(&producer, NULL, give_and_take_back, &c), 0);
    assert_int_equal(pthread_create(&consumer, NULL, claim, &c), 0);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    assert_int_equal(c.claimed + c.back, c.given);
    assert_true(c.given >= YIELDS_LEAST);
    for (uintptr_t n = 1; n <= c.given; n++)
        assert_int_equal(c.got[n], 1);
    assert_true(c.claimed > 0);
    assert_true(c.back > 0);
    assert_true(ring_validate(&c.ring));
    ring_fini(&c.ring);
    free(c.got);
}

TEST(taken_back_from_a_small_ring)
{
    contend(4);
}

TEST(taken_back_from_a_large_ring)
{
    contend(64);
}
