/* What the acceptor asks of a loop when all places are taken: that a connection closes for another.
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_YIELD_H
#define ERGON_NET_YIELD_H

#include "server/net/connection/net_loop.h"

/* Does it, and sends the message back: enum yield_who. */
void connections_yield(struct net_loop *l, struct yield *y);

#endif
