#include "server/runtime/timer.h"

/* timer_next() looks through a slot of a higher level for its first deadline, but not further than
 * this; else it answers with the beginning of the slot, which is earlier. */
enum { NEXT_BUDGET = 64 };

static uint64_t tick_of(ao_time due)
{
    return due / AO_MS(1) + (due % AO_MS(1) != 0);
}

struct place {
    unsigned level, index;
};

/* Where a tick after the wheel's stands. */
static struct place place_of(const struct timer *t, uint64_t tick)
{
    unsigned highest = 63 - (unsigned)__builtin_clzll(tick ^ t->tick);
    unsigned level = highest / TIMER_BITS;
    return (struct place){level, (tick >> (level * TIMER_BITS)) % TIMER_SLOTS};
}

static void slot_append(struct timer_slot *slot, struct ao *ao)
{
    ao->prev = slot->last;
    ao->next = NULL;
    if (slot->last)
        slot->last->next = ao;
    else
        slot->first = ao;
    slot->last = ao;
}

static void slot_remove(struct timer_slot *slot, struct ao *ao)
{
    if (ao->prev)
        ao->prev->next = ao->next;
    else
        slot->first = ao->next;
    if (ao->next)
        ao->next->prev = ao->prev;
    else
        slot->last = ao->prev;
    ao->prev = ao->next = NULL;
}

static void put(struct timer *t, struct ao *ao)
{
    uint64_t tick = tick_of(ao->due);
    if (tick <= t->tick) {
        slot_append(&t->expired, ao);
        return;
    }
    struct place at = place_of(t, tick);
    slot_append(&t->slots[at.level][at.index], ao);
    t->occupied[at.level] |= UINT64_C(1) << at.index;
}

void timer_init(struct timer *t, ao_time now)
{
    *t = (struct timer){.tick = now / AO_MS(1)};
}

void timer_insert(struct timer *t, struct ao *ao)
{
    put(t, ao);
    t->count++;
}

void timer_cancel(struct timer *t, struct ao *ao)
{
    uint64_t tick = tick_of(ao->due);
    t->count--;
    if (tick <= t->tick) {
        slot_remove(&t->expired, ao);
        return;
    }
    struct place at = place_of(t, tick);
    struct timer_slot *slot = &t->slots[at.level][at.index];
    slot_remove(slot, ao);
    if (!slot->first)
        t->occupied[at.level] &= ~(UINT64_C(1) << at.index);
}

/* The first slot that is not empty: of the lowest level that has one.  False when all are empty. */
static bool first_slot(const struct timer *t, struct place *at)
{
    for (unsigned level = 0; level < TIMER_LEVELS; level++)
        if (t->occupied[level]) {
            *at = (struct place){level, (unsigned)__builtin_ctzll(t->occupied[level])};
            return true;
        }
    return false;
}

/* The first tick of a slot. */
static uint64_t slot_begin(const struct timer *t, struct place at)
{
    unsigned shift = at.level * TIMER_BITS;
    uint64_t above = t->tick >> (shift + TIMER_BITS) << (shift + TIMER_BITS);
    return above | (uint64_t)at.index << shift;
}

/* Moves the wheel to the beginning of the first slot that is not empty, unless that lies after
 * `tick`, and spreads its objects over the levels below, in their order; so objects of one tick
 * keep the order of their insertion. */
static bool advance(struct timer *t, uint64_t tick)
{
    struct place at;
    if (!first_slot(t, &at) || slot_begin(t, at) > tick)
        return false;
    struct timer_slot *slot = &t->slots[at.level][at.index];
    struct ao *ao = slot->first;
    t->tick = slot_begin(t, at);
    t->occupied[at.level] &= ~(UINT64_C(1) << at.index);
    *slot = (struct timer_slot){0};
    while (ao) {
        struct ao *next = ao->next;
        __builtin_prefetch(next, 1);
        put(t, ao);
        ao = next;
    }
    return true;
}

struct ao *timer_take(struct timer *t, ao_time now)
{
    uint64_t tick = now / AO_MS(1);
    while (!t->expired.first)
        if (!advance(t, tick)) {
            if (t->tick < tick)
                t->tick = tick;
            return NULL;
        }
    struct ao *ao = t->expired.first;
    slot_remove(&t->expired, ao);
    t->count--;
    return ao;
}

static uint64_t first_tick(const struct timer *t, struct place at)
{
    uint64_t first = UINT64_MAX;
    int budget = NEXT_BUDGET;
    for (const struct ao *ao = t->slots[at.level][at.index].first; ao; ao = ao->next) {
        if (budget-- == 0)
            return slot_begin(t, at);
        uint64_t tick = tick_of(ao->due);
        if (tick < first)
            first = tick;
    }
    return first;
}

ao_time timer_next(const struct timer *t)
{
    struct place at;
    if (t->expired.first)
        return AO_MS(t->tick);
    if (!first_slot(t, &at))
        return AO_NEVER;
    uint64_t tick = at.level == 0 ? slot_begin(t, at) : first_tick(t, at);
    return tick > AO_NEVER / AO_MS(1) ? AO_NEVER - 1 : AO_MS(tick);
}

/* The objects of a slot, or -1 when one does not belong there or a link is wrong. */
static int64_t count_slot(const struct timer *t, const struct timer_slot *slot, struct place at,
                          bool expired)
{
    int64_t n = 0;
    const struct ao *prev = NULL;
    for (const struct ao *ao = slot->first; ao; prev = ao, ao = ao->next, n++) {
        uint64_t tick = tick_of(ao->due);
        if (ao->prev != prev || (tick <= t->tick) != expired)
            return -1;
        if (expired)
            continue;
        struct place right = place_of(t, tick);
        if (right.level != at.level || right.index != at.index)
            return -1;
    }
    return prev == slot->last ? n : -1;
}

bool timer_validate(const struct timer *t)
{
    int64_t sum = count_slot(t, &t->expired, (struct place){0, 0}, true);
    if (sum < 0)
        return false;
    for (unsigned level = 0; level < TIMER_LEVELS; level++)
        for (unsigned index = 0; index < TIMER_SLOTS; index++) {
            struct place at = {level, index};
            int64_t n = count_slot(t, &t->slots[level][index], at, false);
            bool marked = t->occupied[level] >> index & 1;
            if (n < 0 || marked != (n > 0))
                return false;
            sum += n;
        }
    return (uint64_t)sum == t->count;
}
