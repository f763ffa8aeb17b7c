/* Addresses that are refused for a while because of offences: wrong tokens, failed handshakes,
 * peers that never authenticated.
 *
 * Each offence costs time.  The times of an address add up, and pass; when `threshold` is reached
 * the address is refused until all has passed.  So one mistake costs nothing, and a client that
 * guesses tokens is stopped.  (After PerSourcePenalties of OpenSSH 9.8.)
 *
 * Thread: the acceptor's. */
#ifndef ERGON_NET_PENALTIES_H
#define ERGON_NET_PENALTIES_H

#include <ergon/ao.h>

#include "base/hash_table.h"
#include "base/list.h"

struct penalty { /* the table's */
    struct hash_link link;
    TAILQ_ENTRY(penalty) age;
    uint64_t key;
    ao_time until; /* all has passed then */
    bool kept_out; /* until then */
};

struct penalty_table {
    struct hash_table penalties;
    TAILQ_HEAD(, penalty) by_age; /* least recently looked at first */
    ao_time threshold;
    uint64_t seed[2]; /* so that no client can choose addresses that collide */
};

enum {
    PENALTY_ADDRESSES_MAX = 65536 /* beyond it no more are noted: none is refused by mistake */
};
#define PENALTY_MAX AO_S(600)

/* The seed stays as it is; the threshold is at most PENALTY_MAX. */
void penalties_init(struct penalty_table *t, ao_time threshold);
void penalties_fini(struct penalty_table *t);
/* All is forgotten. */
void penalties_clear(struct penalty_table *t);

/* What came from this address (peer_key()) costs it `cost`, at most up to PENALTY_MAX from `now`.
 * True: it is kept out from here on, and was not before.  Without memory it is not noted. */
bool penalties_add(struct penalty_table *t, uint64_t key, ao_time cost, ao_time now);

/* How long it is still kept out; 0: it is not. */
ao_time penalties_left(const struct penalty_table *t, uint64_t key, ao_time now);

#endif
