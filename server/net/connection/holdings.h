/* What a connection holds, for the files of this room.  Thread: the loop's. */
#ifndef ERGON_NET_CONN_HOLDINGS_H
#define ERGON_NET_CONN_HOLDINGS_H

#include "server/net/connection/conn_private.h"
#include "server/net/holdings.h"

/* What it holds has changed, and is not gone at this round's end. */
void holdings_settle(struct connection *c);
/* From now on it is charged to `own`, a reference that is taken over; that to the one before is
 * given back. */
void holdings_move(struct connection *c, struct tally *own);
void holdings_go_on(struct room_waiter *w); /* of room_open() */
void holdings_stop_waiting(struct connection *c);

#endif
