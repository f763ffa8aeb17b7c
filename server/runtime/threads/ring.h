/* A lock-free bounded queue of pointers between one producer thread and one consumer thread.
 *
 * Indices run free and are compared by unsigned difference; the capacity is a power of two and no
 * slot is lost.  Each side keeps a private copy of the other's index and touches the other's cache
 * line only when the ring looks full or empty (the technique of rigtorp/SPSCQueue); the producer
 * stages items and publishes them together (ring_flush), the consumer takes them in batches and
 * gives the slots back together (ring_release).  The ring does not own what the pointers point to.
 *
 * The producer may take back items that the consumer has not taken (ring_take_back).  The consumer
 * of such a ring takes each item by an exchange (ring_claim), so that only one of the two has it.
 */
#ifndef ERGON_RUNTIME_RING_H
#define ERGON_RUNTIME_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_LINE = 64 };

/* If the ring holds many items, each side prefetches a cache line of slots early, once it knows
 * that the other side is done with it.  A line that is fetched sooner would move back and forth. */
enum { RING_LINE = CACHE_LINE / sizeof(void *), RING_AHEAD = 8 * RING_LINE };

struct ring {
    alignas(CACHE_LINE) _Atomic uint32_t tail; /* published items; producer writes */
    alignas(CACHE_LINE) uint32_t staged;       /* producer: items written, published or not */
    uint32_t head_seen;                        /* producer's copy of head */
    alignas(CACHE_LINE) _Atomic uint32_t head; /* slots given back; consumer writes */
    alignas(CACHE_LINE) uint32_t taken;        /* consumer: items read, slots given back or not */
    uint32_t tail_seen;                        /* consumer's copy of tail */
    /* Read-only after init.  A slot orders nothing (relaxed): `tail` and `head` publish what it
     * has. NULL: the item was taken back. */
    alignas(CACHE_LINE) _Atomic(void *) *slots;
    uint32_t mask;
};

/* Capacity is rounded up to a power of two.  0, or -1 without memory. */
int ring_init(struct ring *r, uint32_t capacity);
void ring_fini(struct ring *r);

bool ring_validate(const struct ring *r); /* while neither side is at work */

/* All functions below are inline, and make no unnecessary store: the number of stores per item
 * decides how many items the producer can have in flight while the consumer holds a cache line. */

/* Producer: the number of slots that are in use, as far as it knows. */
static inline uint32_t ring_used(const struct ring *r)
{
    return r->staged - r->head_seen;
}

static inline bool ring_full(const struct ring *r)
{
    return ring_used(r) > r->mask;
}

/* True: a cache line begins, and the one that is RING_AHEAD further is known to be free. */
static inline bool ring_free_ahead(const struct ring *r)
{
    return r->staged % RING_LINE == 0 &&
           r->staged + RING_AHEAD + RING_LINE - r->head_seen <= r->mask;
}

/* True: a cache line begins, and the one that is RING_AHEAD further is known to be filled. */
static inline bool ring_filled_ahead(const struct ring *r)
{
    return r->taken % RING_LINE == 0 && r->tail_seen - r->taken > RING_AHEAD + RING_LINE;
}

/* Prefetches a cache line that will be written.  By default the compiler's own prefetch fetches the
 * line for reading, and the line would move twice. */
static inline void ring_prefetch_to_write(_Atomic(void *) *slot)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*slot));
#else
    __builtin_prefetch(slot, 1);
#endif
}

/* Producer.  False: the ring is full. */
static inline bool ring_stage(struct ring *r, void *item)
{
    if (ring_full(r)) {
        /* Acquire: the consumer has read the slots before we write them again.  Pairs with the
         * release store in ring_release(). */
        r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
        if (ring_full(r))
            return false;
    }
    if (ring_free_ahead(r))
        ring_prefetch_to_write(&r->slots[(r->staged + RING_AHEAD) & r->mask]);
    atomic_store_explicit(&r->slots[r->staged++ & r->mask], item, memory_order_relaxed);
    return true;
}

/* Producer: takes back the item that was staged last but `nth` (below ring_used()).  NULL: the
 * consumer has claimed it, or it was taken back before.  The slot stays in use until the consumer
 * gives it back. */
static inline void *ring_take_back(struct ring *r, uint32_t nth)
{
    /* Relaxed: the exchange decides which side has the item; the producer wrote what it points to.
     */
    return atomic_exchange_explicit(&r->slots[(r->staged - 1 - nth) & r->mask], NULL,
                                    memory_order_relaxed);
}

/* Producer: the number of items that are not published yet. */
static inline uint32_t ring_staged(const struct ring *r)
{
    /* Relaxed: no other thread writes it. */
    return r->staged - atomic_load_explicit(&r->tail, memory_order_relaxed);
}

/* Producer: publishes the staged items.  True: there were some. */
static inline bool ring_flush(struct ring *r)
{
    if (ring_staged(r) == 0)
        return false;
    /* Release: slots, and what they point to, before the index.  Pairs with the acquire load in
     * ring_ready(). */
    atomic_store_explicit(&r->tail, r->staged, memory_order_release);
    return true;
}

/* Consumer.  True: an item can be taken. */
static inline bool ring_ready(struct ring *r)
{
    if (r->taken != r->tail_seen)
        return true;
    /* Acquire: the index before the slots that it covers.  Pairs with the release store in
     * ring_flush(). */
    r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
    return r->taken != r->tail_seen;
}

/* Consumer: takes an item; NULL: the ring is empty.  The slot is in use until ring_release(). */
static inline void *ring_take(struct ring *r)
{
    if (!ring_ready(r))
        return NULL;
    /* Not a function of its own: gcc would remove it as one without effect. */
    if (ring_filled_ahead(r))
        __builtin_prefetch(&r->slots[(r->taken + RING_AHEAD) & r->mask]);
    return atomic_load_explicit(&r->slots[r->taken++ & r->mask], memory_order_relaxed);
}

/* Like ring_take(), for the consumer of a ring whose producer takes items back. */
static inline void *ring_claim(struct ring *r)
{
    void *item = NULL;
    while (!item && ring_ready(r)) {
        uint32_t at = r->taken++ & r->mask;
        /* Relaxed: the exchange decides which side has the item; what it points to came with
         * `tail`. */
        item = atomic_exchange_explicit(&r->slots[at], NULL, memory_order_relaxed);
    }
    return item;
}

/* Consumer: gives the slots of taken items back. */
static inline void ring_release(struct ring *r)
{
    /* Relaxed: no other thread writes it. */
    if (atomic_load_explicit(&r->head, memory_order_relaxed) == r->taken)
        return;
    /* Release: our reads of the slots before the producer may write them again.  Pairs with the
     * acquire load in ring_stage(). */
    atomic_store_explicit(&r->head, r->taken, memory_order_release);
}

#endif
