/* What must be true of a timer between two calls. */
#include "server/runtime/object/timer.h"

static unsigned level_of(const struct ao *ao)
{
    return (ao->flags & TIMER_FLAGS) >> TIMER_FLAGS_SHIFT;
}

/* Windows of a level, or slots, from that of the wheel to that of a tick after it. */
static uint64_t distance(const struct timer *t, uint64_t tick, unsigned shift)
{
    return (tick >> shift) - (t->tick >> shift);
}

/* In the window where the wheel stands, but not in the slot; or moved ahead into the next. */
static bool in_reach(const struct timer *t, uint64_t tick, unsigned level)
{
    unsigned shift = level * TIMER_BITS;
    return tick > t->tick && distance(t, tick, shift) > 0 &&
           distance(t, tick, shift + TIMER_BITS) <= 1;
}

static bool in_slot(const struct timer *t, const struct ao *ao, const struct timer_slot *slot)
{
    uint64_t tick = timer_tick(ao->due);
    unsigned level = level_of(ao);
    uint64_t number = tick >> (level * TIMER_BITS);
    return slot == &t->slots[level][number / TIMER_SLOTS % 2][number % TIMER_SLOTS] &&
           in_reach(t, tick, level) && tick >= slot->earliest;
}

/* The objects of a list, or -1 when a link is wrong. */
static int64_t count_list(const struct timer_list *list)
{
    int64_t n = 0;
    const struct ao *prev = NULL;
    for (const struct ao *ao = list->first; ao; prev = ao, ao = ao->next, n++)
        if (ao->prev != prev)
            return -1;
    return prev == list->last ? n : -1;
}

static bool slot_valid(const struct timer *t, const struct timer_slot *slot)
{
    for (const struct ao *ao = slot->list.first; ao; ao = ao->next)
        if (!in_slot(t, ao, slot))
            return false;
    return true;
}

static bool marks_valid(const struct timer *t, unsigned level, unsigned window, unsigned index)
{
    const struct timer_slot *slot = &t->slots[level][window][index];
    bool occupied = t->occupied[level][window] >> index & 1;
    bool crowded = t->crowded[level][window] >> index & 1;
    return occupied == (slot->list.first != NULL) && occupied == (slot->count > 0) &&
           crowded == (slot->count >= TIMER_CROWD);
}

/* Adds its objects to the sum. */
static bool window_valid(const struct timer *t, unsigned level, unsigned window, uint64_t *sum)
{
    for (unsigned index = 0; index < TIMER_SLOTS; index++) {
        const struct timer_slot *slot = &t->slots[level][window][index];
        int64_t n = count_list(&slot->list);
        if (n < 0 || (uint64_t)n > slot->count || !slot_valid(t, slot) ||
            !marks_valid(t, level, window, index))
            return false;
        *sum += (uint64_t)n;
    }
    return true;
}

static bool expired_valid(const struct timer *t, uint64_t *sum)
{
    int64_t n = count_list(&t->expired);
    if (n < 0)
        return false;
    *sum += (uint64_t)n;
    for (const struct ao *ao = t->expired.first; ao; ao = ao->next)
        if (timer_tick(ao->due) > t->tick)
            return false;
    return true;
}

bool timer_validate(const struct timer *t)
{
    uint64_t sum = 0;
    if (!expired_valid(t, &sum))
        return false;
    for (unsigned level = 0; level < TIMER_LEVELS; level++)
        if (!window_valid(t, level, 0, &sum) || !window_valid(t, level, 1, &sum))
            return false;
    return sum == t->count;
}
