/* The timer holds sleeping objects by deadline: a hierarchical wheel of 1 ms ticks.
 *
 * Eight levels of 64 slots cover every ao_time.  An object is inserted into the level of the
 * highest group of six bits in which its tick differs from the wheel's.  Before the wheel reaches a
 * slot, its objects move down, in order, into the next lower level, whose 64 slots are one window,
 * as long as that slot.
 *
 * A slot with many objects (TIMER_CROWD) must not move all of them when they are nearly due.  So
 * each level has two windows, the current and the next.  Such a slot moves into the next window
 * ahead of time, in small batches spread over the window before.  Smaller slots wait until the
 * wheel comes, and need no wake-up before.
 *
 * Insert and cancel are O(1).  An object moves at most seven times before it is due; each move
 * counts against the caller's budget.  The timer uses the object's prev, next, and TIMER_FLAGS.
 *
 * Objects expire in the order of the ticks of their deadlines, then of insertion.  A deadline that
 * has passed at the insertion expires after all objects that the wheel has reached.  Deadlines are
 * rounded up to a tick, so no object expires early.
 *
 * Home thread only; nothing fails.  The timer borrows its objects. */
#ifndef ERGON_RUNTIME_TIMER_H
#define ERGON_RUNTIME_TIMER_H

#include <ergon/ao.h>

enum { TIMER_LEVELS = 8, TIMER_BITS = 6, TIMER_SLOTS = 1 << TIMER_BITS };

/* Moving so many objects takes about 0.1 ms; for fewer, a wake-up is not worth its cost. */
enum { TIMER_CROWD = 1024 };

/* In ao.flags: the level of the object; valid while it is in the timer. */
enum { TIMER_FLAGS = 0x70, TIMER_FLAGS_SHIFT = 4 };

struct timer_list {
    struct ao *first, *last; /* NULL when empty */
};

struct timer_slot {
    struct timer_list list;
    uint64_t count;    /* objects, and cancelled ones since the slot filled; 0 when empty */
    uint64_t earliest; /* no object has an earlier tick; valid while the slot is not empty */
};

/* Each level has two windows: the one with an even number, counted from tick 0, and the odd one. */
struct timer {
    uint64_t tick;   /* ms; the position of the wheel: before every slot that is not empty */
    uint64_t looked; /* tick of the last check for slots to be moved ahead */
    uint64_t count;  /* objects in the timer, expired ones included */
    struct timer_list expired;          /* due, and not yet taken */
    uint64_t occupied[TIMER_LEVELS][2]; /* bit per slot that is not empty */
    uint64_t crowded[TIMER_LEVELS][2];  /* bit per slot whose count is at least TIMER_CROWD */
    uint64_t moved[TIMER_LEVELS];       /* tick when this level's last batch was moved ahead */
    struct timer_slot slots[TIMER_LEVELS][2][TIMER_SLOTS];
};

void timer_init(struct timer *t, ao_time now);
void timer_insert(struct timer *t, struct ao *ao); /* ao->due is not AO_NEVER */
void timer_cancel(struct timer *t, struct ao *ao); /* it is in the timer */

/* Takes out the next object that is due at `now`.  NULL: there is none, or the budget is used up;
 * each object that is moved or taken costs one. */
struct ao *timer_take(struct timer *t, ao_time now, int *budget);

/* When timer_take() is to be called again: at the next deadline (it may be that of a cancelled
 * object), or when a crowded slot is to be moved; AO_NEVER if the timer is empty. */
ao_time timer_next(const struct timer *t);

/* Checks the slot of every object, the bitmaps and the counts; for tests. */
bool timer_validate(const struct timer *t);

/* The first tick that is not before `due`. */
static inline uint64_t timer_tick(ao_time due)
{
    return due / AO_MS(1) + (due % AO_MS(1) != 0);
}

#endif
