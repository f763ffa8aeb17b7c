/* Origins: how many connections come from each address, or of each user of the machine, and which
 * has the most.  This is the only type of table that counts by address.  The acceptor counts all
 * connections, and those that wait for their users' names.  A loop counts its own that are
 * unauthenticated, and those that shake hands.
 *
 * An IPv6 address counts with all of its /64 (peer_key()).  There is one entry for each address
 * that has a connection, and none for others: so a table has no more entries than there may be
 * connections, however many addresses one client has, and each takes 88 bytes.
 *
 * Thread: the owner's. */
#ifndef ERGON_NET_ORIGINS_H
#define ERGON_NET_ORIGINS_H

#include "base/hash_table.h"
#include "base/list.h"
#include "base/pairing_heap.h"

/* A counted connection, which is in its origin's list. */
struct origin_member {
    TAILQ_ENTRY(origin_member) link;
};
TAILQ_HEAD(origin_members, origin_member);

struct origin { /* the table's */
    struct hash_link link;
    struct pairing_node node;
    uint64_t key;   /* peer_key() */
    uint64_t order; /* of its making: among those of equal size the older goes first */
    uint32_t count;
    struct origin_members members; /* the owner's, for the connections that it wants to find */
};

struct origins {
    struct hash_table by_key;
    struct pairing_heap by_count;
    uint64_t seed[2]; /* so that no client can choose addresses that collide */
    uint64_t made;
};

void origins_init(struct origins *c, const uint64_t seed[2]);
void origins_fini(struct origins *c);

/* One more; the origin is valid as long as it counts a connection.  NULL without memory: it is not
 * counted. */
struct origin *origins_join(struct origins *c, uint64_t key);
/* One fewer; the last one frees the origin. */
void origins_leave(struct origins *c, struct origin *origin);
/* The origin of this key; NULL: no connection of it is counted. */
struct origin *origins_find(const struct origins *c, uint64_t key);

/* That with the most, borrowed until the next change; NULL: none is counted.  O(1). */
struct origin *origins_largest(const struct origins *c);

#endif
