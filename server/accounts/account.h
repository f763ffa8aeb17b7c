/* Accounts: what one principal holds of the server, over all its connections and all loops: bytes
 * of memory, and calls in flight.
 *
 * Each loop counts for itself, in a tally (tally.h), and settles with the account at the end of a
 * round.  So the sums here are a round old, and nobody pays for them by the message.
 *
 * A principal may hold so many bytes as its own limit says, and never more than are still free of
 * the limit over all.  So one who takes all that it can get leaves half, and of n such each leaves
 * as much as it has: somebody who comes later finds room, however many have come before (Choudhury
 * and Hahne, "Dynamic queue length thresholds in a shared memory ATM switch", 1996).
 *
 * Thread: any.  Opening and closing take a lock, for a few instructions, and happen when a loop
 * first meets a principal and when it has seen the last of it; the sums are atomic. */
#ifndef ERGON_ACCOUNTS_ACCOUNT_H
#define ERGON_ACCOUNTS_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/hash_table.h"

/* Of a server.  Each is more than 0, and UINT64_MAX or UINT32_MAX where there is no limit. */
struct account_limits {
    uint64_t bytes_in_all;
    uint64_t bytes; /* of one principal */
    uint32_t calls; /* in flight, of one principal */
};

extern const struct account_limits unlimited_accounts;

struct accounts; /* all of a server */

struct account {
    struct hash_link link; /* under the lock of `all` */
    struct accounts *all;
    uint32_t references; /* under that lock too */
    uint32_t index;      /* small, and no other open account's */
    /* What was settled.  They order nothing (relaxed): each is a figure that is right by itself,
     * and a decision by one that is a round old is as good. */
    _Atomic uint64_t bytes;
    _Atomic uint32_t calls;
    char name[]; /* principal_name() */
};

/* `seed`: a secret, since names come from strangers.  The limits are copied.  NULL without memory.
 */
struct accounts *accounts_new(const struct account_limits *limits, const uint64_t seed[2]);
/* When all accounts are closed.  NULL is fine. */
void accounts_free(struct accounts *all);
const struct account_limits *accounts_limits(const struct accounts *all);
/* What all hold together; settled. */
uint64_t accounts_bytes(const struct accounts *all);
/* One more than the greatest index that was ever given. */
uint32_t accounts_reach(const struct accounts *all);

/* The account of this name, which is opened where it is not yet: each account_open() wants its
 * account_close().  NULL without memory. */
struct account *account_open(struct accounts *all, const char *name);
/* Whoever closes last has settled to nothing: asserted. */
void account_close(struct account *a);

/* Adds to what it holds; with a negative number, takes away. */
void account_settle(struct account *a, int64_t bytes, int32_t calls);

/* It holds as much as it may: of its own limit, or of what is free. */
bool account_is_full(const struct account *a);

#endif
