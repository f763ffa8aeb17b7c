#include "server/runtime/object/timer.h"

/* Objects that are moved ahead at once; that takes about 50 us. */
enum { AHEAD_BATCH = TIMER_CROWD / 2 };

struct place {
    unsigned level, window, index;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The slot of a tick on a level. */
static struct place place_of(unsigned level, uint64_t tick)
{
    uint64_t number = tick >> (level * TIMER_BITS);
    return (struct place){level, number / TIMER_SLOTS % 2, number % TIMER_SLOTS};
}

static uint64_t place_bit(struct place at)
{
    return UINT64_C(1) << at.index;
}

/* The first tick of a slot that the wheel has not reached. */
static uint64_t place_begin(const struct timer *t, struct place at)
{
    unsigned shift = at.level * TIMER_BITS;
    uint64_t window = t->tick >> (shift + TIMER_BITS);
    window += window % 2 != at.window;
    return (window * TIMER_SLOTS + at.index) << shift;
}

static struct timer_slot *slot_at(struct timer *t, struct place at)
{
    return &t->slots[at.level][at.window][at.index];
}

static void list_append(struct timer_list *list, struct ao *ao)
{
    ao->prev = list->last;
    ao->next = NULL;
    if (list->last)
        list->last->next = ao;
    else
        list->first = ao;
    list->last = ao;
}

static void list_remove(struct timer_list *list, struct ao *ao)
{
    if (ao->prev)
        ao->prev->next = ao->next;
    else
        list->first = ao->next;
    if (ao->next)
        ao->next->prev = ao->prev;
    else
        list->last = ao->prev;
    ao->prev = ao->next = NULL;
}

static void put(struct timer *t, unsigned level, uint64_t tick, struct ao *ao)
{
    struct place at = place_of(level, tick);
    struct timer_slot *slot = slot_at(t, at);
    if (!slot->list.first || tick < slot->earliest)
        slot->earliest = tick;
    list_append(&slot->list, ao);
    t->occupied[level][at.window] |= place_bit(at);
    if (++slot->count == TIMER_CROWD)
        t->crowded[level][at.window] |= place_bit(at);
    ao->flags = (uint8_t)((ao->flags & ~(unsigned)TIMER_FLAGS) | level << TIMER_FLAGS_SHIFT);
}

static void slot_emptied(struct timer *t, struct place at)
{
    slot_at(t, at)->count = 0;
    t->occupied[at.level][at.window] &= ~place_bit(at);
    t->crowded[at.level][at.window] &= ~place_bit(at);
}

void timer_init(struct timer *t, ao_time now)
{
    *t = (struct timer){.tick = now / AO_MS(1)};
}

void timer_insert(struct timer *t, struct ao *ao)
{
    uint64_t tick = timer_tick(ao->due);
    t->count++;
    if (tick <= t->tick) {
        list_append(&t->expired, ao);
        return;
    }
    unsigned highest = 63 - (unsigned)__builtin_clzll(tick ^ t->tick);
    put(t, highest / TIMER_BITS, tick, ao);
}

/* The slot is not read, and its count not changed, unless it becomes empty: otherwise each cancel
 * would wait for a cache miss. */
void timer_cancel(struct timer *t, struct ao *ao)
{
    uint64_t tick = timer_tick(ao->due);
    t->count--;
    if (tick <= t->tick) {
        list_remove(&t->expired, ao);
        return;
    }
    unsigned level = (unsigned)(ao->flags & TIMER_FLAGS) >> TIMER_FLAGS_SHIFT;
    struct place at = place_of(level, tick);
    struct timer_list *list = &slot_at(t, at)->list;
    list_remove(list, ao);
    if (!list->first)
        slot_emptied(t, at);
}

static unsigned window_now(const struct timer *t, unsigned level)
{
    return place_of(level, t->tick).window;
}

/* Finds the first marked slot of a level.  False: none is marked. */
static bool first_marked(const struct timer *t, const uint64_t marks[2], unsigned level,
                         struct place *at)
{
    unsigned now = window_now(t, level);
    unsigned window = marks[now] ? now : !now;
    if (!marks[window])
        return false;
    *at = (struct place){level, window, (unsigned)__builtin_ctzll(marks[window])};
    return true;
}

/* The levels above hold nothing before the end of the current window. */
static bool before_all_above(const struct timer *t, struct place at)
{
    return at.window == window_now(t, at.level);
}

/* Finds the slot that begins first.  Of several it takes the highest, since its objects move into
 * the others, after those that have been moved ahead.  False: all slots are empty. */
static bool first_slot(const struct timer *t, struct place *first)
{
    uint64_t begin = UINT64_MAX;
    struct place at;
    for (unsigned level = 0; level < TIMER_LEVELS; level++) {
        if (!first_marked(t, t->occupied[level], level, &at))
            continue;
        if (place_begin(t, at) <= begin) {
            begin = place_begin(t, at);
            *first = at;
        }
        if (before_all_above(t, at))
            break;
    }
    return begin != UINT64_MAX;
}

static void move_down(struct timer *t, struct place from, int *budget)
{
    struct timer_slot *slot = slot_at(t, from);
    for (; slot->list.first && *budget > 0; --*budget) {
        struct ao *ao = slot->list.first;
        __builtin_prefetch(ao->next, 1);
        list_remove(&slot->list, ao);
        put(t, from.level - 1, timer_tick(ao->due), ao);
        slot->count--;
    }
    if (!slot->list.first)
        slot_emptied(t, from);
    else if (slot->count < TIMER_CROWD)
        t->crowded[from.level][from.window] &= ~place_bit(from);
}

static void expire(struct timer *t, struct place at)
{
    struct timer_slot *slot = slot_at(t, at);
    t->expired = slot->list;
    slot->list = (struct timer_list){0};
    slot_emptied(t, at);
}

/* Moves the wheel to the first slot that is not empty, unless that begins after `tick`.  A slot of
 * the lowest level is one tick, and expires as a whole.  Before a slot of another level the wheel
 * stops until all of the slot has moved down. */
static bool advance(struct timer *t, uint64_t tick, int *budget)
{
    struct place at;
    if (!first_slot(t, &at) || place_begin(t, at) > tick)
        return false;
    t->tick = place_begin(t, at) - (at.level > 0);
    if (at.level > 0)
        move_down(t, at, budget);
    else
        expire(t, at);
    return true;
}

/* The first crowded slot of a level, and when it is moved ahead: during the window before, and
 * early enough that its first objects can be moved further. */
struct crowd {
    struct place at;
    uint64_t count;       /* at most */
    uint64_t from, until; /* ticks: the last batch, or the begin of that window; the end */
};

static bool first_crowd(const struct timer *t, unsigned level, struct crowd *c)
{
    if (!first_marked(t, t->crowded[level], level, &c->at))
        return false;
    uint64_t length = UINT64_C(1) << (level * TIMER_BITS), begin = place_begin(t, c->at);
    c->count = t->slots[level][c->at.window][c->at.index].count;
    c->from = most(begin - length, t->moved[level]);
    c->until = most(c->from + 1, begin - length / TIMER_SLOTS);
    return true;
}

/* The number of batches in which it is moved from a tick on; at most one per tick. */
static uint64_t batches_from(const struct crowd *c, uint64_t tick)
{
    uint64_t ticks = c->until > tick ? c->until - tick : 1;
    return least(c->count / AHEAD_BATCH - 1, ticks);
}

static uint64_t next_batch(const struct timer *t, unsigned level)
{
    struct crowd c;
    if (!first_crowd(t, level, &c))
        return UINT64_MAX;
    return most(c.from + (c.until - c.from) / batches_from(&c, c.from), t->looked + 1);
}

static void move_batch(struct timer *t, unsigned level, int *budget)
{
    struct crowd c;
    if (!first_crowd(t, level, &c))
        return;
    uint64_t batch = least(c.count / batches_from(&c, t->tick), (uint64_t)*budget);
    int left = (int)batch;
    move_down(t, c.at, &left);
    *budget -= (int)batch;
    t->moved[level] = t->tick;
}

/* Moves a batch of each level that is due; called once a tick, when there is nothing else to do. */
static void move_ahead(struct timer *t, int *budget)
{
    for (unsigned level = TIMER_LEVELS - 1; level > 0; level--)
        if (*budget > 0 && next_batch(t, level) <= t->tick)
            move_batch(t, level, budget);
    t->looked = t->tick;
}

static struct ao *take_expired(struct timer *t)
{
    struct ao *ao = t->expired.first;
    __builtin_prefetch(ao->next, 1);
    list_remove(&t->expired, ao);
    t->count--;
    return ao;
}

struct ao *timer_take(struct timer *t, ao_time now, int *budget)
{
    uint64_t tick = now / AO_MS(1);
    while ((*budget)-- > 0) {
        if (t->expired.first)
            return take_expired(t);
        if (!advance(t, tick, budget)) {
            t->tick = most(t->tick, tick);
            if (t->looked < t->tick)
                move_ahead(t, budget);
            return NULL;
        }
    }
    return NULL;
}

/* A slot of the next window may hold objects that were moved ahead, while a level above holds the
 * rest. */
static uint64_t next_deadline(const struct timer *t)
{
    uint64_t tick = UINT64_MAX;
    struct place at;
    for (unsigned level = 0; level < TIMER_LEVELS; level++) {
        if (!first_marked(t, t->occupied[level], level, &at))
            continue;
        tick = least(tick, t->slots[level][at.window][at.index].earliest);
        if (before_all_above(t, at))
            break;
    }
    return tick;
}

static uint64_t next_move(const struct timer *t)
{
    uint64_t tick = UINT64_MAX;
    for (unsigned level = 1; level < TIMER_LEVELS; level++)
        tick = least(tick, next_batch(t, level));
    return tick;
}

ao_time timer_next(const struct timer *t)
{
    if (t->expired.first)
        return AO_MS(t->tick);
    if (t->count == 0)
        return AO_NEVER;
    uint64_t tick = least(next_deadline(t), next_move(t));
    return tick > AO_NEVER / AO_MS(1) ? AO_NEVER - 1 : AO_MS(tick);
}

/* ---- what must be true between two calls; for tests ---- */

static unsigned level_of(const struct ao *ao)
{
    return (ao->flags & TIMER_FLAGS) >> TIMER_FLAGS_SHIFT;
}

/* The number of windows or slots of a level from the wheel's to that of a later tick. */
static uint64_t distance(const struct timer *t, uint64_t tick, unsigned shift)
{
    return (tick >> shift) - (t->tick >> shift);
}

/* True: the tick is in the current window, after the current slot, or moved ahead into the next
 * window. */
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

/* The number of objects in a list; -1: a link is wrong. */
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

/* Adds the number of its objects to the sum. */
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
