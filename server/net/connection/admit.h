/* The identity of a peer, where it need not authenticate by a message; and its rights, whenever
 * they change.
 *
 * Thread: the loop's. */
#ifndef ERGON_NET_ADMIT_H
#define ERGON_NET_ADMIT_H

#include "server/net/connection/conn_private.h"

/* After the handshake.  Sets the connection's principal by the rules of its listener: certificate,
 * credentials of the socket, or address; where a token is asked for, none yet.  False (logged): the
 * peer must not be served, because its certificate is unusable, the system does not identify it, or
 * there is no memory. */
bool admit_peer(struct connection *c);
/* Of a connection with a principal: tokens and roles have changed, or its time is over.  It gets
 * the rights that it has now.  If these are fewer, it is closed, unless its loop says to lower it:
 * then it keeps the rest, or its peer must authenticate again.  Not within a step of another
 * connection. */
void admit_again(struct connection *c);

/* --- After a reload ---
 *
 * The loop determines the rights of each connection again, by its certificate, its
 * token and its roles.  A connection that lost rights is closed, or lowered.
 *
 * No reload looks at all connections at once.  It gives the loop a new generation: a connection of
 * an older one is renewed before anything else is done in its step, so no message is judged by
 * rights that are no more; and a walk (walk.h) renews, in bounded steps, those that are silent.
 * None of these fails. */

/* Tokens, roles or certificates of the loop have changed.  At any time, within a walk as well: each
 * connection is then renewed once more. */
void renewal_start(struct net_loop *l);

/* It is of an older generation: it is renewed, which may close it.  Not within a step of another
 * connection. */
void renewal_of(struct connection *c);

static inline bool renewal_due(const struct connection *c)
{
    return c->generation != c->loop->generation;
}

#endif
