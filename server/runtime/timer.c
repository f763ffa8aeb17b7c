#include "server/runtime/timer.h"

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
    struct timer_slot *slot = &t->slots[at.level][at.index];
    if (!slot->first || tick < slot->earliest)
        slot->earliest = tick;
    slot_append(slot, ao);
    t->occupied[at.level] |= UINT64_C(1) << at.index;
}

void timer_init(struct timer *t, ao_time now)
{
    *t = (struct timer){.tick = now / AO_MS(1)};
}

/* While a slot moves, what comes for it queues behind: objects of one tick keep their order. */
void timer_insert(struct timer *t, struct ao *ao)
{
    t->count++;
    if (t->moving.first && tick_of(ao->due) < t->moving_end)
        slot_append(&t->moving, ao);
    else
        put(t, ao);
}

/* An object inside of a list is unlinked without regard to which list it is; at an end it is the
 * moving one's if that one says so. */
static bool ends_moving(const struct timer *t, const struct ao *ao)
{
    return t->moving.first == ao || t->moving.last == ao;
}

void timer_cancel(struct timer *t, struct ao *ao)
{
    uint64_t tick = tick_of(ao->due);
    t->count--;
    if (ends_moving(t, ao)) {
        slot_remove(&t->moving, ao);
        return;
    }
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
 * `tick`.  A slot of the lowest level is one tick, and expires as it is; another begins to move. */
static bool advance(struct timer *t, uint64_t tick)
{
    struct place at;
    if (!first_slot(t, &at) || slot_begin(t, at) > tick)
        return false;
    struct timer_slot *slot = &t->slots[at.level][at.index];
    t->tick = slot_begin(t, at);
    t->moving_end = t->tick + (UINT64_C(1) << (at.level * TIMER_BITS));
    t->occupied[at.level] &= ~(UINT64_C(1) << at.index);
    if (at.level == 0)
        t->expired = *slot;
    else
        t->moving = *slot;
    *slot = (struct timer_slot){0};
    return true;
}

static void move_one(struct timer *t)
{
    struct ao *ao = t->moving.first;
    __builtin_prefetch(ao->next, 1);
    slot_remove(&t->moving, ao);
    put(t, ao);
}

static struct ao *take_expired(struct timer *t)
{
    struct ao *ao = t->expired.first;
    __builtin_prefetch(ao->next, 1);
    slot_remove(&t->expired, ao);
    t->count--;
    return ao;
}

struct ao *timer_take(struct timer *t, ao_time now, int *budget)
{
    uint64_t tick = now / AO_MS(1);
    while ((*budget)-- > 0) {
        if (t->moving.first)
            move_one(t);
        else if (t->expired.first)
            return take_expired(t);
        else if (!advance(t, tick)) {
            t->tick = t->tick < tick ? tick : t->tick;
            return NULL;
        }
    }
    return NULL;
}

ao_time timer_next(const struct timer *t)
{
    struct place at;
    if (t->expired.first || t->moving.first)
        return AO_MS(t->tick);
    if (!first_slot(t, &at))
        return AO_NEVER;
    uint64_t tick = t->slots[at.level][at.index].earliest;
    return tick > AO_NEVER / AO_MS(1) ? AO_NEVER - 1 : AO_MS(tick);
}

/* The objects of a list, or -1 when a link is wrong, or one does not belong there. */
static int64_t count_list(const struct timer *t, const struct timer_slot *slot,
                          bool (*belongs)(const struct timer *t, uint64_t tick, struct place at),
                          struct place at)
{
    int64_t n = 0;
    const struct ao *prev = NULL;
    for (const struct ao *ao = slot->first; ao; prev = ao, ao = ao->next, n++)
        if (ao->prev != prev || !belongs(t, tick_of(ao->due), at))
            return -1;
    return prev == slot->last ? n : -1;
}

static bool in_slot(const struct timer *t, uint64_t tick, struct place at)
{
    if (tick <= t->tick)
        return false;
    struct place right = place_of(t, tick);
    return right.level == at.level && right.index == at.index &&
           tick >= t->slots[at.level][at.index].earliest;
}

static bool in_expired(const struct timer *t, uint64_t tick, struct place at)
{
    (void)at;
    return tick <= t->tick;
}

static bool in_moving(const struct timer *t, uint64_t tick, struct place at)
{
    (void)at;
    return tick < t->moving_end;
}

static int64_t count_level(const struct timer *t, unsigned level)
{
    int64_t sum = 0;
    for (unsigned index = 0; index < TIMER_SLOTS; index++) {
        struct place at = {level, index};
        int64_t n = count_list(t, &t->slots[level][index], in_slot, at);
        bool marked = t->occupied[level] >> index & 1;
        if (n < 0 || marked != (n > 0))
            return -1;
        sum += n;
    }
    return sum;
}

bool timer_validate(const struct timer *t)
{
    int64_t expired = count_list(t, &t->expired, in_expired, (struct place){0, 0});
    int64_t moving = count_list(t, &t->moving, in_moving, (struct place){0, 0});
    if (expired < 0 || moving < 0)
        return false;
    int64_t sum = expired + moving;
    for (unsigned level = 0; level < TIMER_LEVELS; level++) {
        int64_t n = count_level(t, level);
        if (n < 0)
            return false;
        sum += n;
    }
    return (uint64_t)sum == t->count;
}
