/* After a reload: the loop determines the rights of each connection again, by its certificate, its
 * token and its roles.  A connection that lost rights is closed, or lowered.
 *
 * No reload looks at all connections at once.  It gives the loop a new generation: a connection of
 * an older one is renewed before anything else is done in its step, so no message is judged by
 * rights that are no more; and a walk (walk.h) renews, in bounded steps, those that are silent.
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_RENEWAL_H
#define ERGON_NET_RENEWAL_H

#include "server/net/connection/conn_private.h"

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
