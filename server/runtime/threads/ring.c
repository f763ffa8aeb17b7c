#include "server/runtime/threads/ring.h"

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

bool ring_validate(const struct ring *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    return r->staged - head <= r->mask + 1 && r->staged - tail <= r->staged - head &&
           r->taken - head <= tail - head && r->tail_seen - r->taken <= tail - r->taken &&
           r->staged - r->head_seen <= r->mask + 1;
}
