#include "server/runtime/ring.h"

#include <stdlib.h>

static uint32_t round_up(uint32_t n)
{
    uint32_t power = 1;
    while (power < n)
        power <<= 1;
    return power;
}

int ring_init(struct ring *r, uint32_t capacity)
{
    *r = (struct ring){.mask = round_up(capacity) - 1};
    r->slots = calloc((size_t)r->mask + 1, sizeof *r->slots);
    return r->slots ? 0 : -1;
}

void ring_fini(struct ring *r)
{
    free(r->slots);
    r->slots = NULL;
}

static bool full(const struct ring *r)
{
    return r->staged - r->head_seen > r->mask;
}

bool ring_stage(struct ring *r, void *item)
{
    if (full(r)) {
        /* Acquire: the consumer has read the slots before we write them again.  Pairs with the
         * release store in ring_release(). */
        r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
        if (full(r))
            return false;
    }
    r->slots[r->staged++ & r->mask] = item;
    return true;
}

bool ring_flush(struct ring *r)
{
    if (r->flushed == r->staged)
        return false;
    r->flushed = r->staged;
    /* Release: slots, and what they point to, before the index.  Pairs with the acquire load in
     * ring_ready(). */
    atomic_store_explicit(&r->tail, r->staged, memory_order_release);
    return true;
}

bool ring_ready(struct ring *r)
{
    if (r->taken != r->tail_seen)
        return true;
    /* Acquire: the index before the slots that it covers.  Pairs with the release store in
     * ring_flush(). */
    r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
    return r->taken != r->tail_seen;
}

void *ring_take(struct ring *r)
{
    if (!ring_ready(r))
        return NULL;
    return r->slots[r->taken++ & r->mask];
}

void ring_release(struct ring *r)
{
    if (r->released == r->taken)
        return;
    r->released = r->taken;
    /* Release: our reads of the slots before the producer may write them again.  Pairs with the
     * acquire load in ring_stage(). */
    atomic_store_explicit(&r->head, r->taken, memory_order_release);
}

uint32_t ring_count(const struct ring *r)
{
    /* Relaxed: a figure.  Head first, so that the difference cannot be negative. */
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    return atomic_load_explicit(&r->tail, memory_order_relaxed) - head;
}

bool ring_validate(const struct ring *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    return r->flushed == tail && r->released == head && r->staged - head <= r->mask + 1 &&
           r->staged - tail <= r->staged - head && r->taken - head <= tail - head &&
           r->tail_seen - r->taken <= tail - r->taken && r->staged - r->head_seen <= r->mask + 1;
}
