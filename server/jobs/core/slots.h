/* The buckets of a table that grows by one at a time (linear hashing, Litwin 1980): no add ever
 * pays for a whole table that is sorted anew, which with a million jobs would hold up
 * everything else for tens of milliseconds.  Who uses it owns the chains.  Pure. */
#ifndef ERGON_JOBS_SLOTS_H
#define ERGON_JOBS_SLOTS_H

#include <stdint.h>

enum { SLOTS_FIRST = 16 /* a power of two */ };

/* A table's first buckets, empty: an array of SLOTS_FIRST pointers; NULL without memory. */
void *slots_new(void);

/* Room for one bucket more than `size`.  The array, moved perhaps, with the new bucket empty; NULL
 * without memory, and then the old array stands. */
void *slots_grow(void *slots, uint32_t size);

/* The bucket whose chain is to be split when bucket `size` comes: what slots_at(hash, size + 1)
 * sends to `size` moves there. */
static inline uint32_t slots_split(uint32_t size)
{
    return size ^ (UINT32_C(1) << (31 - __builtin_clz(size)));
}

/* The bucket of this hash in a table of `size` buckets. */
static inline uint32_t slots_at(uint64_t hash, uint32_t size)
{
    uint32_t mask = UINT32_MAX >> __builtin_clz(size);
    uint32_t at = (uint32_t)hash & mask;
    return at < size ? at : at & (mask >> 1);
}

#endif
