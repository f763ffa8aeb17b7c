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
    uint32_t slot = slot_of(number);

    if (slot >= q->used)
        return NULL;
    struct request *r = &q->slots[slot];
    return r->waiter && r->generation == number >> SLOT_BITS ? r : NULL;
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

/* The first of a slot is 1, so that no number is 0. */
static uint32_t next_generation(uint32_t generation)
{
    return generation + 1 < GENERATIONS ? generation + 1 : 1;
}

uint32_t requests_open(struct requests *q, void *waiter)
{
    uint32_t slot = take_slot(q);

    assert(waiter);
    if (slot == REQUESTS_MAX)
        return 0;
    struct request *r = &q->slots[slot];
    *r = (struct request){.waiter = waiter, .generation = next_generation(r->generation)};
    q->out++;
    return r->generation << SLOT_BITS | slot;
}

void requests_sent(struct requests *q, uint32_t number, uint64_t end)
{
    struct request *r = find(q, number);
    uint32_t slot = slot_of(number);

    assert(r && (q->last == 0 || q->slots[q->last - 1].end <= end));
    r->end = end;
    r->next = 0;
    *(q->last > 0 ? &q->slots[q->last - 1].next : &q->first) = slot + 1;
    q->last = slot + 1;
}

void *requests_handed(struct requests *q, uint64_t handed)
{
    struct request *r = q->first > 0 ? &q->slots[q->first - 1] : NULL;

    if (!r || r->end > handed)
        return NULL;
    q->first = r->next;
    if (q->first == 0)
        q->last = 0;
    r->handed = true;
    return r->waiter;
}

void *requests_find(const struct requests *q, uint64_t number, bool *early)
{
    const struct request *r = find(q, number);

    *early = r && !r->handed;
    return r ? r->waiter : NULL;
}

void requests_close(struct requests *q, uint32_t number)
{
    struct request *r = find(q, number);

    assert(r && r->handed);
    r->waiter = NULL;
    r->next = q->free;
    q->free = slot_of(number) + 1;
    q->out--;
}
