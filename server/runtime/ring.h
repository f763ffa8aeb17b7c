/* Lock-free bounded queue of pointers between one producer thread and one consumer thread.
 *
 * Indices run free and are compared by unsigned difference; the capacity is a power of two and no
 * slot is lost.  Each side keeps a private copy of the other's index and touches the other's cache
 * line only when the ring looks full or empty (the technique of rigtorp/SPSCQueue); the producer
 * stages items and publishes them together (ring_flush), the consumer takes them in batches and
 * gives the slots back together (ring_release). */
#ifndef ERGON_RUNTIME_RING_H
#define ERGON_RUNTIME_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CACHE_LINE = 64 };

struct ring {
    alignas(CACHE_LINE) _Atomic uint32_t tail; /* published items; producer writes */
    alignas(CACHE_LINE) uint32_t staged;       /* producer: items written, published or not */
    uint32_t head_seen;                        /* producer's copy of head */
    uint32_t flushed;                          /* producer's copy of tail */
    alignas(CACHE_LINE) _Atomic uint32_t head; /* slots given back; consumer writes */
    alignas(CACHE_LINE) uint32_t taken;        /* consumer: items read, slots given back or not */
    uint32_t tail_seen;                        /* consumer's copy of tail */
    uint32_t released;                         /* consumer's copy of head */
    alignas(CACHE_LINE) void **slots;          /* read-only after init */
    uint32_t mask;
};

/* Capacity is rounded up to a power of two.  0, or -1 without memory. */
int ring_init(struct ring *r, uint32_t capacity);
void ring_fini(struct ring *r);

bool ring_stage(struct ring *r, void *item); /* producer; false when full */
bool ring_flush(struct ring *r); /* producer; publishes; true when there was something to publish */
bool ring_ready(struct ring *r); /* consumer; true when an item can be taken */
void *
ring_take(struct ring *r); /* consumer; NULL when empty; the slot is kept until ring_release() */
void ring_release(struct ring *r);         /* consumer; gives taken slots back */
uint32_t ring_count(const struct ring *r); /* any thread; a guess unless both sides stand still */
bool ring_validate(const struct ring *r);  /* both sides standing still */

#endif
