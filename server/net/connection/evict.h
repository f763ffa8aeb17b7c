/* What the acceptor asks of a loop when all places are taken: that a connection closes for another.
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_EVICT_H
#define ERGON_NET_EVICT_H

#include "server/net/connection/net_loop.h"

/* Does it, and sends the message back: enum evicted. */
void connections_evict(struct net_loop *l, struct eviction *y);

#endif
