/* Principals that connections of one loop share.
 *
 * Those that come to one listener as the same one, by a certificate, a socket or an address, have
 * one principal: it takes 300 bytes with its rights, more than an idle connection does otherwise.
 * (A token's principal is in its table already.)
 *
 * Rights depend on what a reload reads anew, so principals of different generations
 * (net_loop.generation) are different.
 *
 * Thread: the loop's. */
#ifndef ERGON_NET_SHARED_PRINCIPALS_H
#define ERGON_NET_SHARED_PRINCIPALS_H

#include "base/hash_table.h"
#include "server/net/auth/principal.h"

struct shared_principals {
    struct hash_table by_name;
    uint64_t seed[2]; /* so that no client can choose names that collide */
};

/* What a principal follows from, beside what is read anew by a reload. */
struct shared_key {
    enum principal_mechanism how;
    const char *name;  /* without its mechanism */
    const void *whose; /* the rules of its listener */
    uint16_t generation;
    bool own; /* peer_key_is_own(): of two users with one name, only one may be */
};

void shared_principals_init(struct shared_principals *s, const uint64_t seed[2]);
void shared_principals_fini(struct shared_principals *s); /* when none of it is held */

/* That of the key, held; NULL: there is none yet. */
const struct principal *shared_principals_find(struct shared_principals *s,
                                               const struct shared_key *key);
/* A new one, of which the caller holds a reference: others of the key find it for as long as it is
 * held.  False without memory: it is not shared. */
bool shared_principals_add(struct shared_principals *s, const struct shared_key *key,
                           const struct principal *p);

/* One reference more, and one less, of any principal; NULL is fine.  Code that holds one for a
 * connection takes and drops it by these alone. */
const struct principal *shared_principals_hold(struct shared_principals *s,
                                               const struct principal *p);
void shared_principals_release(struct shared_principals *s, const struct principal *p);

#endif
