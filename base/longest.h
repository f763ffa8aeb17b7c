/* The longest of many times: in all, and of the last minute.  One thread notes, any thread reads;
 * relaxed, as base/counter.h.
 *
 * A minute is six slots of 10 s and the one that goes on, so "of the last minute" reaches back 60
 * to 70 s.  Who only reads changes nothing: several readers see the same.
 *
 * Noting costs two comparisons, unless the time is the longest of its slot. */
#ifndef ERGON_BASE_LONGEST_H
#define ERGON_BASE_LONGEST_H

#include "base/counter.h"

enum { LONGEST_SLOTS = 7 };

/* Zeroed: there is nothing yet. */
struct longest {
    counter ever;                 /* ns */
    counter slots[LONGEST_SLOTS]; /* the number of the slot, and its longest: longest.c */
    /* The writer's: */
    uint64_t known; /* ns: longest of the slot that goes on */
    uint64_t until; /* when that slot ends, ns */
};

/* Is this to be noted?  For who would have to work for the exact time. */
static inline int longest_wants(const struct longest *l, uint64_t now, uint64_t took)
{
    return took > l->known || now >= l->until;
}

/* The writer: something that took so many ns has ended now (ns of a monotonic clock). */
void longest_note(struct longest *l, uint64_t now, uint64_t took);

/* Any thread; ns, 0: there was none. */
uint64_t longest_ever(const struct longest *l);
uint64_t longest_lately(const struct longest *l, uint64_t now);

#endif
