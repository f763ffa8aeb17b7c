/* Waiting for room in an account: an operation that needs more than is free waits here.  It goes on
 * in the order of arrival of its principal on its loop, when there is room, on whatever loop that
 * was made.
 *
 * Thread: the loop's. */
#ifndef ERGON_ACCOUNTS_ROOM_H
#define ERGON_ACCOUNTS_ROOM_H

#include "server/accounts/tally.h"

/* Its owner's memory, which stays until it waits no longer. */
struct room_waiter {
    TAILQ_ENTRY(room_waiter) link;
    uint64_t need; /* bytes; 0: any */
};

/* Before anybody waits; once.  `go_on`: one waits no longer, and may be freed; it is called from no
 * step of another object.  False without memory. */
bool room_open(struct tally_book *book, void (*go_on)(struct room_waiter *w));

/* Waits until the account does not lack `need` bytes, as tally_lacks() has it, and then goes on. */
void room_wait(struct tally *t, struct room_waiter *w, uint64_t need);
/* It waits, and does no longer. */
void room_forget(struct tally *t, struct room_waiter *w);

/* For tally.c.  room_look(): a change was settled, which may make room for a waiter. */
void room_init(struct tally_book *book);
void room_fini(struct tally_book *book);
void room_look(struct tally_book *book);

#endif
