/* The timer holds sleeping objects by deadline: a hierarchical wheel of 1 ms ticks.
 *
 * Eight levels of 64 slots cover every ao_time.  An object is inserted into the level of the
 * highest group of six bits in which its tick differs from the wheel's.  A slot moves down before
 * the wheel reaches it: its objects go, in their order, into the next lower level, whose 64 slots
 * are one window, as long as that slot.  So that no crowd is moved when all of it is nearly due, a
 * level has two windows, the one in which the wheel stands and the next, and a slot with
 * TIMER_CROWD objects moves into the latter ahead of its time: a small batch now and then, spread
 * over the window before.  What is fewer stays until the wheel comes, and wakes nobody before.
 *
 * Insert and cancel are O(1); an object moves at most seven times before it is due, and the moves
 * are paid out of the caller's budget.  The timer uses the object's prev, next, and TIMER_FLAGS.
 *
 * Order of expiry: by tick of the deadline, then by order of insertion.  A deadline that the wheel
 * has passed when it is inserted comes after all that the wheel has reached.  A deadline is rounded
 * up to its tick: never early.
 *
 * Home thread only; nothing fails.  The timer borrows its objects. */
#ifndef ERGON_RUNTIME_TIMER_H
#define ERGON_RUNTIME_TIMER_H

#include <ergon/ao.h>

enum { TIMER_LEVELS = 8, TIMER_BITS = 6, TIMER_SLOTS = 1 << TIMER_BITS };

/* So many objects of one slot take about 0.1 ms to move: a shorter delay is not worth a wake. */
enum { TIMER_CROWD = 1024 };

/* In ao.flags: the level where the object stands; valid while it does. */
enum { TIMER_FLAGS = 0x70, TIMER_FLAGS_SHIFT = 4 };

struct timer_list {
    struct ao *first, *last; /* NULL when empty */
};

struct timer_slot {
    struct timer_list list;
    uint64_t count;    /* of objects, and of those cancelled since they came; 0 when empty */
    uint64_t earliest; /* tick: none is before it; valid while the slot is not empty */
};

/* Of each level two windows: one with an even number, counted from tick 0, and one with an odd. */
struct timer {
    uint64_t tick;             /* ms; where the wheel stands: before every slot that is not empty */
    uint64_t looked;           /* tick of the last look at what is to be moved ahead */
    uint64_t count;            /* objects inside, expired ones included */
    struct timer_list expired; /* tick reached, not yet taken */
    uint64_t occupied[TIMER_LEVELS][2]; /* bit per slot that is not empty */
    uint64_t crowded[TIMER_LEVELS][2];  /* bit per slot whose count is at least TIMER_CROWD */
    uint64_t moved[TIMER_LEVELS];       /* tick when this level's last batch was moved ahead */
    struct timer_slot slots[TIMER_LEVELS][2][TIMER_SLOTS];
};

void timer_init(struct timer *t, ao_time now);
void timer_insert(struct timer *t, struct ao *ao); /* ao->due is set, and not AO_NEVER */
void timer_cancel(struct timer *t, struct ao *ao); /* it stands in the timer */

/* Takes out the next object that is due at `now`, NULL when there is none, or when the budget is
 * used up: an object moved, or taken, costs one. */
struct ao *timer_take(struct timer *t, ao_time now, int *budget);

/* When to look again: the next deadline, or that of an object which has been cancelled since, or
 * the time to move some of a crowded slot; AO_NEVER when empty. */
ao_time timer_next(const struct timer *t);

/* Every object in its right slot, bitmaps and counts right.  Walks all; for tests. */
bool timer_validate(const struct timer *t);

/* The first tick that is not before `due`. */
static inline uint64_t timer_tick(ao_time due)
{
    return due / AO_MS(1) + (due % AO_MS(1) != 0);
}

#endif
