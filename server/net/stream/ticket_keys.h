/* The rotating keys of TLS session tickets.
 *
 * Each period's key is a one-way hash of the one before.  All loops start from the same key and the
 * same time, so they agree without sharing anything, and a key that has gone out of use cannot be
 * computed again.  Tickets are opened with this period's key and the one before.
 *
 * Pure but for the randomness of the first key.  Thread: the owner's. */
#ifndef ERGON_NET_TICKET_KEYS_H
#define ERGON_NET_TICKET_KEYS_H

#include <ergon/ao.h>

#include "server/net/auth/crypto.h"

#define TICKET_PERIOD AO_S(3600)
enum { TICKET_NAME_SIZE = 16, TICKET_KEY_SIZE = 32 };

struct ticket_key {
    uint8_t name[TICKET_NAME_SIZE];
    uint8_t cipher[TICKET_KEY_SIZE];
    uint8_t mac[TICKET_KEY_SIZE];
};

struct ticket_keys {
    ao_time next;               /* when the period ends */
    uint8_t chain[SHA256_SIZE]; /* secret from which this period's key and the next chain come */
    struct ticket_key now, before;
};

/* New keys, by chance.  False when OpenSSL fails. */
bool ticket_keys_init(struct ticket_keys *k, ao_time now);
/* Goes on to the period of `now`.  False when OpenSSL fails: the keys must not be used then. */
bool ticket_keys_advance(struct ticket_keys *k, ao_time now);
/* The key of that name, for as long as the keys are not advanced; NULL: there is none. */
const struct ticket_key *ticket_keys_find(const struct ticket_keys *k,
                                          const uint8_t name[static TICKET_NAME_SIZE]);

#endif
