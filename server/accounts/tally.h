/* A tally: what one loop counts of an account, in plain numbers, until it settles with the account
 * at the end of the round.
 *
 * A holder of something for a principal (a connection, a task) holds a reference to the tally as
 * long.  It charges what it takes, and releases the same when it gives it back.
 *
 * A tally may be alone, too: of no loop, for one task that goes from thread to thread.  It settles
 * at each change.
 *
 * Thread: the loop's, for all of it; of one that is alone, its holder's. */
#ifndef ERGON_ACCOUNTS_TALLY_H
#define ERGON_ACCOUNTS_TALLY_H

#include <ergon/activator.h>
#include <ergon/ao.h>

#include "base/list.h"
#include "server/accounts/account.h"
#include "server/accounts/account_room.h"

TAILQ_HEAD(room_queue, room_waiter);
TAILQ_HEAD(tally_queue, tally);

struct tally {
    struct hash_link link; /* in its book, by the account's index */
    struct account *account;
    struct tally_book *book; /* NULL: it is alone */
    struct tally *next_unsettled;
    struct account_change change; /* that the account has not heard of */
    uint64_t input;               /* that this loop holds, settled or not */
    struct room_queue waiters;    /* room.h */
    TAILQ_ENTRY(tally) waiting;   /* in its book, while there are some */
    uint32_t references;
    bool unsettled; /* is in the book's list of those */
    /* Whose turn it is to be read, of its connections: conn_input.c. */
    uint32_t read;  /* what they handed over in `round` */
    uint32_t turn;  /* in each of which each of them is read once */
    uint64_t round; /* the last one in which one was read */
    bool behind;    /* some were not read in it, and are to be in the next, before all others */
};

struct room_waiter;

/* The tallies of one loop; its owner's memory, which does not move. */
struct tally_book {
    struct accounts *accounts; /* borrowed */
    struct activator *activator;
    struct hash_table tallies;
    struct tally *unsettled;
    struct round_hook hook; /* armed while there is one */

    /* For operations that wait for room: see room.h. */
    struct tally_queue waiting;
    struct ao ao; /* tells them of it */
    struct account_room room;
    void (*go_on)(struct room_waiter *w);
};

/* `accounts` and `activator` must outlive it. */
void tally_book_init(struct tally_book *book, struct accounts *accounts,
                     struct activator *activator);
/* When all are closed. */
void tally_book_fini(struct tally_book *book);

/* Of the principal of this name; each wants its tally_close().  NULL without memory. */
struct tally *tally_open(struct tally_book *book, const char *name);
/* A tally that is alone, of an account that another holder keeps open meanwhile.  NULL without
 * memory. */
struct tally *tally_open_alone(struct account *a);
void tally_close(struct tally *t); /* NULL is fine */

static inline struct tally *tally_ref(struct tally *t) /* returns t; wants a tally_close() too */
{
    t->references++;
    return t;
}

void tally_enlist(struct tally *t); /* it is settled at the end of this round */

/* Bytes that are held from now on for this principal, or, with less than 0, are not any more. */
static inline void tally_charge(struct tally *t, int64_t bytes)
{
    t->change.bytes += bytes;
    if (!t->unsettled)
        tally_enlist(t);
}

/* Of the bytes that are held, so many more, or less, are input. */
static inline void tally_input(struct tally *t, int64_t bytes)
{
    t->change.input += bytes;
    t->input += (uint64_t)bytes;
    if (!t->unsettled)
        tally_enlist(t);
}

/* The input that its principal holds on all loops: of others what they have settled, which is a
 * round old. */
static inline uint64_t tally_input_in_all(const struct tally *t)
{
    int64_t settled = (int64_t)atomic_load_explicit(&t->account->input, memory_order_relaxed);
    int64_t sum = settled + t->change.input;

    return sum > (int64_t)t->input ? (uint64_t)sum : t->input;
}

/* Has its account no room for so many bytes more, or as many calls in flight as it may, as far as
 * this loop knows? */
static inline bool tally_lacks(const struct tally *t, uint64_t bytes)
{
    return account_calls_full(t->account, &t->change) ||
           account_lacks_bytes(t->account, &t->change, bytes);
}

/* The same of its bytes alone, for a nested call: the calls that it is part of are in flight until
 * it has ended, and it would be refused because of them. */
static inline bool tally_lacks_bytes(const struct tally *t, uint64_t bytes)
{
    return account_lacks_bytes(t->account, &t->change, bytes);
}

/* Calls that are in flight from now on, or, with less than 0, are not any more. */
static inline void tally_calls(struct tally *t, int32_t calls)
{
    t->change.calls += calls;
    if (!t->unsettled)
        tally_enlist(t);
}

#endif
