/* Connections that wait for the name of their user, whom the system is asked for (users.h).
 *
 * Whose name is known never comes here, so nobody who is known waits behind one who is not, and
 * accepting goes on whoever waits.  All of one user wait for one look-up, and go on together, in
 * the order in which they came.  Who has waited for limits.auth_timeout (NAME_WAIT where that is
 * off) is refused: it is not served by its id instead, because it might then do more than by its
 * name, where a role says less than the listener, and what it submits would belong to somebody
 * else.
 *
 * Each has a place among limits.connections, but for PENDING_USERS_MORE of them, which may be
 * beyond.  When no place is left, the user that has most of these loses the youngest, to a
 * connection of a user whose name is known, or of one that has fewer here.  So neither shuts out
 * the other.
 *
 * Where all slot requests are taken (slot_requests.h) those whose names have come wait here on,
 * until one is free.
 *
 * Thread: the acceptor's.  Nothing here fails. */
#ifndef ERGON_NET_PENDING_USERS_H
#define ERGON_NET_PENDING_USERS_H

#include "server/net/accept/users.h"
#include "server/net/connection/origins.h"

struct acceptor;
struct listener;
struct name_wait;

enum {
    PENDING_USERS_MORE = USERS_ASKED_MAX, /* beyond limits.connections */
    PENDING_USERS_A_STEP = 256            /* that go on, or are refused */
};
#define NAME_WAIT AO_S(10) /* where limits.auth_timeout is off */

TAILQ_HEAD(name_waits, name_wait);

struct pending_users {
    struct name_waits all;     /* in the order in which they came */
    struct name_waits unasked; /* of these, whose users the system was not asked for yet */
    struct name_waits ready;   /* of these, that need not wait for a name any more */
    struct origins users;      /* all of them by user */
    uint32_t count;
};

void pending_users_init(struct pending_users *n, const uint64_t seed[2]);

/* Takes over a connection of a user whose name users_find() did not know: it waits, or is refused,
 * at a limit or without memory. */
void pending_users_wait(struct listener *l, int fd, uint32_t uid);
/* A name has come, or the answer that there is none (LOOP_USER). */
void pending_users_answered(struct acceptor *a, struct loop_message *answer);

/* A connection whose name has come; `fd` is the receiver's. */
struct named {
    struct listener *listener;
    int fd;
    uint32_t uid;
    const char *name; /* until the next call for the acceptor's users */
};
enum pending_users_did { PENDING_USERS_NOTHING, PENDING_USERS_SOME, PENDING_USERS_NAMED };

/* Does the next thing that is due: hands out one whose name has come (while a slot request may
 * begin), or refuses one that has no name, or whose time is over; while the server drains, any. */
enum pending_users_did pending_users_step(struct acceptor *a, bool may_request, struct named *out);
/* When pending_users_step() has something to do though nothing comes; AO_NEVER: no connection
 * waits. */
ao_time pending_users_next(const struct acceptor *a, bool may_request);

/* Of limits.connections, that these take. */
static inline uint32_t pending_users_places(const struct pending_users *n)
{
    return n->count <= PENDING_USERS_MORE ? 0 : n->count - PENDING_USERS_MORE;
}
/* Closes one, so that a place is free, of the user that has most of them and more than `count`.
 * False: there is none. */
bool pending_users_evict(struct acceptor *a, uint32_t count);

/* The end: closes those that wait. */
void pending_users_drop(struct acceptor *a);

#endif
