/* The loops that wait for room in any account (room.h); their objects are posted when there may be
 * some.
 *
 * Thread: any; each takes the lock of the accounts, for a few instructions.  Nothing here fails. */
#ifndef ERGON_ACCOUNTS_ACCOUNT_ROOM_H
#define ERGON_ACCOUNTS_ACCOUNT_ROOM_H

#include <stdbool.h>

struct accounts;
struct ao_handle; /* ergon/ao.h */

/* A waiter for room, of any account: a loop, whose object is posted when there may be some. Private
 * to account.c but for the handle, the owner's; zeroed at first. */
struct account_room {
    struct account_room *next;
    struct ao_handle *handle;
    bool waits;
};

/* From here on accounts_wait() may be called with it.  `handle` must outlive it. */
void accounts_add_room(struct accounts *all, struct account_room *room);
void accounts_remove_room(struct accounts *all, struct account_room *room);
/* Its object is activated once by what makes room from here on: look at the sums behind this call,
 * and not before. */
void accounts_wait(struct accounts *all, struct account_room *room);

#endif
