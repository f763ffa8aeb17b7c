/* Connections that close for others, by the rules of unauthenticated.h, and when the acceptor asks,
 * since all places are taken.
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_EVICT_H
#define ERGON_NET_EVICT_H

#include "server/net/connection/conn_private.h"

/* Closes an unauthenticated connection if there are too many; within no step of a connection. */
void unauthenticated_make_room(struct net_loop *l);

/* Within its step in HANDSHAKE: if its handshake takes memory by now, it is counted.  When there
 * are too many such, one is closed by the same choice: it may be this one, which then is CLOSED. */
void unauthenticated_shakes(struct connection *c);

/* Does what the acceptor asks (enum evicted), and sends the message back. */
void connections_evict(struct net_loop *l, struct eviction *y);

#endif
