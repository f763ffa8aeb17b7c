/* Crowds: how many newcomers of one loop come from each address, and which address has the most.
 *
 * Thread: the loop's.  Without memory an address is not counted, and so is never the one with the
 * most; nothing else fails. */
#ifndef ERGON_NET_CROWDS_H
#define ERGON_NET_CROWDS_H

#include "base/hash_table.h"
#include "base/pairing_heap.h"

struct crowd { /* the table's */
    struct hash_link link;
    struct pairing_node node;
    uint64_t key;   /* peer_key() */
    uint64_t order; /* of its making: among those of equal size the older goes first */
    uint32_t count;
};

struct crowds {
    struct hash_table by_key;
    struct pairing_heap by_count;
    uint64_t seed[2]; /* so that nobody can choose addresses that fall together */
    uint64_t made;
};

void crowds_init(struct crowds *c, const uint64_t seed[2]);
void crowds_fini(struct crowds *c);

void crowds_add(struct crowds *c, uint64_t key);
void crowds_remove(struct crowds *c, uint64_t key); /* one that was added, counted or not */

/* That with the most, borrowed until the next change; NULL: none is counted. */
const struct crowd *crowds_largest(const struct crowds *c);

#endif
