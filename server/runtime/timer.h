/* The timer holds sleeping objects by deadline: a hierarchical wheel of 1 ms ticks.
 *
 * Eight levels of 64 slots cover every ao_time.  An object stands in the level of the highest group
 * of six bits in which its tick differs from the wheel's; so all of a level come before all of the
 * next, and a bitmap a level gives the first.  Insert and cancel are O(1); an object moves down at
 * most seven times before it is due, and the moves are paid out of the caller's budget: a slot with
 * a million objects is spread over many rounds.  It uses the object's prev and next.
 *
 * Order of expiry: by tick of the deadline, then by order of insertion.  A deadline that the wheel
 * has passed when it is inserted comes after all that is due already.  A deadline is rounded up to
 * its tick: never early.
 *
 * Home thread only. */
#ifndef ERGON_RUNTIME_TIMER_H
#define ERGON_RUNTIME_TIMER_H

#include <ergon/ao.h>

enum { TIMER_LEVELS = 8, TIMER_BITS = 6, TIMER_SLOTS = 1 << TIMER_BITS };

struct timer_slot {
    struct ao *first, *last; /* NULL when empty */
    uint64_t earliest;       /* tick: none is before it; of a slot of the wheel that is not empty */
};

struct timer {
    uint64_t tick;                   /* ms; where the wheel stands */
    uint64_t count;                  /* objects inside, expired ones included */
    uint64_t occupied[TIMER_LEVELS]; /* bit per slot that is not empty */
    struct timer_slot slots[TIMER_LEVELS][TIMER_SLOTS];
    struct timer_slot expired; /* tick reached, not yet taken */
    /* A slot that the wheel has reached and that is being spread over the levels below; meanwhile
     * the wheel stands still, and what belongs there is appended here. */
    struct timer_slot moving;
    uint64_t moving_end; /* first tick after that slot; valid while `moving` is not empty */
};

void timer_init(struct timer *t, ao_time now);
void timer_insert(struct timer *t, struct ao *ao); /* ao->due is set, and not AO_NEVER */
void timer_cancel(struct timer *t, struct ao *ao); /* it stands in the timer */

/* Takes out the next object that is due at `now`, NULL when there is none, or when the budget is
 * used up: an object moved, or taken, costs one. */
struct ao *timer_take(struct timer *t, ao_time now, int *budget);

/* When to look again: the next deadline, or that of an object which has been cancelled since;
 * AO_NEVER when empty. */
ao_time timer_next(const struct timer *t);

/* Every object in its right slot, bitmaps and counts right.  Walks all; for tests. */
bool timer_validate(const struct timer *t);

#endif
