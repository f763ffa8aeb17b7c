#include "server/rpc/requests.h"

#include <assert.h>
#include <stdlib.h>

#include "base/grow.h"

enum { SLOT_BITS = 13, GENERATIONS = 1 << 18 };
_Static_assert(1 << SLOT_BITS == REQUESTS_MAX, "each has a slot");

static uint32_t slot_of(uint64_t number)
{
    return (uint32_t)number & (REQUESTS_MAX - 1);
}

/* NULL: none is out under this number. */
static struct request *find(const struct requests *q, uint64_t number)
{
    uint64_t place = number ^ q->mask;
    uint32_t slot = slot_of(place);

    if (slot >= q->used)
        return NULL;
    struct request *r = &q->slots[slot];
    return r->waiter && r->generation == place >> SLOT_BITS ? r : NULL;
}

void requests_init(struct requests *q, uint64_t random)
{
    const uint32_t top = (uint32_t)GENERATIONS << (SLOT_BITS - 1);

    *q = (struct requests){.mask = top | ((uint32_t)random & (top - 1))};
}

void requests_fini(struct requests *q)
{
    free(q->slots);
    *q = (struct requests){0};
}

/* REQUESTS_MAX: none, or no memory. */
static uint32_t take_slot(struct requests *q)
{
    uint32_t slot = q->free - 1;

    if (q->free > 0) {
        q->free = q->slots[slot].next;
        return slot;
    }
    if (q->used == REQUESTS_MAX)
        return REQUESTS_MAX;
    struct request *grown = grow_array(q->slots, &q->room, q->used, sizeof *grown);
    if (!grown)
        return REQUESTS_MAX;
    q->slots = grown;
    return q->used++;
}

/* Skips the mask's own, so that no number is 0. */
static uint32_t next_generation(const struct requests *q, uint32_t generation)
{
    uint32_t next = (generation + 1) % GENERATIONS;

    return next == q->mask >> SLOT_BITS ? (next + 1) % GENERATIONS : next;
}

uint32_t requests_open(struct requests *q, void *waiter)
{
    uint32_t slot = take_slot(q);

    assert(waiter);
    if (slot == REQUESTS_MAX)
        return 0;
    struct request *r = &q->slots[slot];
    *r = (struct request){.waiter = waiter,
                          .begin = UINT64_MAX,
                          .end = UINT64_MAX,
                          .generation = next_generation(q, r->generation)};
    q->out++;
    return (r->generation << SLOT_BITS | slot) ^ q->mask;
}

void requests_sent(struct requests *q, uint32_t number, uint64_t begin, uint64_t end)
{
    struct request *r = find(q, number);
    uint32_t slot = slot_of(number ^ q->mask);

    assert(r && begin < end && (q->last == 0 || q->slots[q->last - 1].end <= begin));
    r->begin = begin;
    r->end = end;
    r->next = 0;
    *(q->last > 0 ? &q->slots[q->last - 1].next : &q->first) = slot + 1;
    q->last = slot + 1;
}

void *requests_begun(struct requests *q, uint64_t handed)
{
    struct request *r = q->first > 0 ? &q->slots[q->first - 1] : NULL;

    if (!r || r->begin >= handed)
        return NULL;
    q->first = r->next;
    if (q->first == 0)
        q->last = 0;
    return r->waiter;
}

void *requests_find(const struct requests *q, uint64_t number, uint64_t handed, bool *early)
{
    const struct request *r = find(q, number);

    *early = r && r->end > handed;
    return r ? r->waiter : NULL;
}

void requests_close(struct requests *q, uint32_t number)
{
    struct request *r = find(q, number);

    assert(r);
    r->waiter = NULL;
    r->next = q->free;
    q->free = slot_of(number ^ q->mask) + 1;
    q->out--;
}
