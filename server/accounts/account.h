/* Accounts: what one principal holds of the server, over all its connections and all loops: bytes
 * of memory, and calls in flight.
 *
 * Bytes are of two kinds.  Input is what was read and has not begun: messages that are not whole,
 * or that wait.  All else is at work: parameters and results of calls, and output.  What is at work
 * makes room by itself as it ends, or is read.  Input makes none before it may begin, so no
 * operation may wait for that: it does not count against the limit of a principal (it has one of
 * its own, limits.partial).  A principal that has nothing at work may begin one thing as long as
 * there is room in all.
 *
 * Each loop counts for itself, in a tally (tally.h), and settles with the account at the end of a
 * round.  So the sums here are a round old, and no message costs an update of them.
 *
 * A principal may hold so many bytes as its own limit says, and never more than are still free of
 * the limit over all.  So one principal that takes all that it can get leaves half, and n such
 * principals leave as much as each has.  A principal that comes later finds room, however many have
 * come before (Choudhury and Hahne, "Dynamic queue length thresholds in a shared memory ATM
 * switch", 1996).
 *
 * Thread: any.  Opening and the last closing take a lock, for a few instructions: as a loop meets a
 * principal for the first time, and as the last loop forgets it; the sums are atomic. */
#ifndef ERGON_ACCOUNTS_ACCOUNT_H
#define ERGON_ACCOUNTS_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/hash_table.h"
#include "server/accounts/input_budget.h"

/* Of a server.  Each is more than 0, and UINT64_MAX or UINT32_MAX where there is no limit. */
struct account_limits {
    uint64_t bytes_in_all;
    uint64_t bytes; /* at work, of one principal */
    uint32_t calls; /* in flight, of one principal */
};

extern const struct account_limits unlimited_accounts;

struct accounts; /* all of a server */

struct account {
    struct hash_link link; /* under the lock of `all` */
    struct accounts *all;
    /* The last is given back under that lock, where others take the first; all between is the
     * word's alone.  Release and acquire in account_close(): the last to close sees what others
     * settled. */
    _Atomic uint32_t references;
    uint32_t index; /* small, and no other open account's */
    /* What was settled.  They order nothing (relaxed): each is a figure that is right by itself,
     * and a decision by one that is a round old is as good. */
    _Atomic uint64_t bytes;
    _Atomic uint64_t input; /* of these */
    _Atomic uint32_t calls;
    /* Tasks of its plain calls that wait for an executor: at once, not settled.  Orders nothing
     * (relaxed): a bound, exact because it is one word. */
    _Atomic uint32_t queued;
    /* Tasks of it that are parked or take turns at stepped executors; in the same way. */
    _Atomic uint32_t places;
    char name[]; /* principal_name() */
};

/* What is added to one, or taken away, since it was last settled. */
struct account_change {
    int64_t bytes;
    int64_t input; /* of these */
    int32_t calls;
};

/* `seed`: a secret, since names come from strangers.  The limits are copied.  NULL without memory.
 */
struct accounts *accounts_new(const struct account_limits *limits, const uint64_t seed[2]);
/* When all accounts are closed.  NULL is fine. */
void accounts_free(struct accounts *all);
const struct account_limits *accounts_limits(const struct accounts *all);
/* What all hold together; settled. */
uint64_t accounts_bytes(const struct accounts *all);
/* What messages that are not whole may take; it lives as long as `all`. */
struct input_budget *accounts_input(struct accounts *all);
/* One more than the greatest index that was ever given. */
uint32_t accounts_reach(const struct accounts *all);
/* More than one account is open: fairness matters. */
bool accounts_several(const struct accounts *all);

/* The account of this name, which is opened where it is not yet: each account_open() wants its
 * account_close().  NULL without memory. */
struct account *account_open(struct accounts *all, const char *name);
/* Returns `a`, which the caller knows to be open: it wants one account_close() more.  No lock. */
struct account *account_ref(struct account *a);
/* The last to close has settled to nothing: asserted. */
void account_close(struct account *a);

/* Adds it to what it holds.  Where that makes room, waiting loops are posted. */
void account_settle(struct account *a, const struct account_change *change);

/* Has it no room for `bytes` more, if this was settled too?  It has none where more would
 * be at work for it than its own limit, or than would then be free of the limit in all; but where
 * nothing of it is at work there is, if it fits into what is left in all, and where nothing at all
 * is at work there is in any case.
 * Without `bytes`: does it hold as much as it may, or more?  Calls in flight are not looked at. */
bool account_lacks_bytes(const struct account *a, const struct account_change *unsettled,
                         uint64_t bytes);

/* For how many bytes more, in pieces that come one by one, has it room?  Less than a piece may be
 * left where one would fit: account_lacks_bytes() says so. */
uint64_t account_bytes_left(const struct account *a, const struct account_change *unsettled);

/* Do `held` bytes and so many more exceed a limit?  What takes more than half of it alone fits
 * beside whatever is at most half: else it would wait for as long as anything lasts, as a long poll
 * does. Pure. */
static inline bool account_exceeds(uint64_t held, uint64_t more, uint64_t limit)
{
    return more > limit / 2 ? held > limit / 2 : held + more > limit;
}

/* Has it as many calls in flight as it may, or more? */
bool account_calls_full(const struct account *a, const struct account_change *unsettled);

/* Adds bytes that are about to be allocated, beside what it was charged, if that fits; `own` are
 * those of the same task, which may go on where nothing else is held.  False: it does not, nothing
 * was added, and it is counted as refused. */
bool account_take(struct account *a, uint64_t bytes, uint64_t own);

/* Counts one that was stopped for want of room. */
void accounts_note_stopped(struct accounts *all);
/* Those that have most tasks queued or parked; `name` may be cut. */
struct account_top {
    char name[64];
    uint32_t queued, places;
};
/* Any thread, under the lock: at most `most` of them, in order, those that have none left out.
 * Returns how many. */
uint32_t accounts_top(struct accounts *all, struct account_top *out, uint32_t most);

struct accounts_figures {
    uint64_t bytes, input; /* as accounts_bytes() */
    uint64_t unfinished;   /* of accounts_input() */
    uint64_t stopped, refused;
};
/* Any thread; relaxed figures. */
struct accounts_figures accounts_figures(struct accounts *all);

#endif
