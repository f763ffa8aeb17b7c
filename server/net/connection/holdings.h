/* What a connection holds, for the files of this room.  Thread: the loop's. */
#ifndef ERGON_NET_CONN_HOLDINGS_H
#define ERGON_NET_CONN_HOLDINGS_H

#include "server/net/connection/conn_private.h"
#include "server/net/holdings.h"

/* What it holds has changed, and is not gone at this round's end. */
void holdings_settle(struct connection *c);
/* The input that it keeps is about to go; then it is to be settled. */
void holdings_forget_input(struct connection *c);
/* The message that was put back is handed over, or gone. */
void holdings_end_use(struct connection *c);
/* From now on it is charged to `own`, a reference that is taken over; that to the one before is
 * given back. */
void holdings_move(struct connection *c, struct tally *own);
void holdings_go_on(struct room_waiter *w); /* of room_open() */
void holdings_stop_waiting(struct connection *c);
/* Something of it is at work, and its account holds as much as it may, or all together do. */
bool holdings_lack(const struct connection *c);
/* It has begun to serve, or does so no longer: from now on it waits for no room, or does. */
void holdings_go_by_service(struct connection *c);

#endif
