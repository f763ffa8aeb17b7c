/* Slot requests: connections that came when all places (limits.connections) were in use, and wait
 * for the eviction of another.
 *
 * The acceptor first evicts connections that wait for the name of their user (pending_users.h), and
 * unauthenticated connections.  Then it evicts the youngest connection of the address, or user of
 * this machine, that has the most.  It does so only in favour of an origin with under a quarter of
 * that number.  So no origin fills the server alone, and two origins with many connections do not
 * evict each other in turn.  Of the youngest SLOT_REQUEST_LOOKS it prefers one that has nothing at
 * work.
 *
 * Unauthenticated connections that had no time to speak yet stay in two cases.  They are not
 * evicted for an origin with more than a quarter: a flood cannot evict clients that are about to
 * authenticate.  And where one address has a quarter of all places, the single such connections of
 * other addresses stay: they would evict each other.
 *
 * The connections are the loops': each of these asks is a message to a loop and back (LOOP_EVICT),
 * and the slot request waits for that, its socket accepted and nothing read.  So there are never
 * more open connections than the limit (but for KEPT_PLACES), and SLOT_REQUESTS_MAX sockets beside
 * them; while all of these wait, the acceptor accepts none.  A loop that is away is not asked; a
 * slot request that hangs with one that was asked before anybody noticed waits until it is back,
 * and there are at most SLOT_REQUESTS_A_LOOP of those.
 *
 * Thread: the acceptor's.  Nothing here fails. */
#ifndef ERGON_NET_SLOT_REQUESTS_H
#define ERGON_NET_SLOT_REQUESTS_H

#include "server/net/connection/loop_message.h"

struct acceptor;

enum {
    SLOT_REQUESTS_MAX = 16,   /* at once; half of them for origins that have many */
    SLOT_REQUESTS_A_LOOP = 8, /* of these, that wait for one loop */
    SLOT_REQUEST_LOOKS = 8,   /* connections of one address that are asked whether they are idle */
    SLOT_REQUEST_PART = 4     /* of the most: origins below it may use that half; or of all */
};

struct slot_request {
    struct eviction eviction; /* on its way */
    struct conn_slot *slot;   /* that wants a place; owned.  NULL: the slot request is free */
    struct conn_slot *victim; /* whose place it asks for; it is not freed meanwhile */
    uint32_t loop;            /* that it waits for */
    uint32_t looks;           /* loops that were asked, for unauthenticated ones first */
};

/* Sends the slot, which no loop has, to a loop; or asks for a place for it first; or refuses it, if
 * no connection has to make room.  It takes the slot over.  Only while
 * slot_requests_may_begin(). */
void slot_request_place(struct acceptor *a, struct conn_slot *slot);
/* A loop has done what a slot request asked for. */
void slot_request_answered(struct acceptor *a, struct eviction *y);
/* There is room for one more, and a loop that it may ask. */
bool slot_requests_may_begin(const struct acceptor *a);
/* The end, when no loop runs any more: what waits is closed and freed. */
void slot_requests_drop(struct acceptor *a);

#endif
