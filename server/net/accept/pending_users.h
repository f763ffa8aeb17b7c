/* Connections that wait while the system looks up the name of their user (users.h).
 *
 * Connections of users with a known name never wait here, so they do not queue behind unknown ones,
 * and the acceptor goes on meanwhile.  All connections of one user wait for one look-up, and go on
 * together, in the order in which they came.  A connection that has waited for limits.auth_timeout
 * (NAME_WAIT where that is off) is refused.  It is not served by its id instead.  A role for the
 * name may give fewer rights than the listener, and its tasks would belong to another tenant.
 *
 * Each has a place among limits.connections, but for PENDING_USERS_MORE of them, which may be
 * beyond.  When no place is left, the user that has most of these loses the youngest, to a
 * connection of a user whose name is known, or of one that has fewer here.  So neither kind of
 * connection shuts out the other.
 *
 * While all slot requests are in use (slot_requests.h), connections whose names are found wait here
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
