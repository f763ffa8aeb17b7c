/* Who a peer is, as far as it need not say so itself; and what it may do, whenever that changes.
 *
 * Thread: the loop's. */
#ifndef ERGON_NET_ADMIT_H
#define ERGON_NET_ADMIT_H

#include "server/net/connection/conn_private.h"

/* After the handshake.  Sets the connection's principal by the rules of its listener: certificate,
 * credentials of the socket, or address; where a token is asked for, none yet.  False (logged): the
 * peer must not be served, by reason of an unusable certificate, a system that does not say who the
 * peer is, or no memory. */
bool admit_peer(struct connection *c);
/* Of a connection with a principal: tokens and roles have changed, or its time is over.  It gets
 * what it may do now; if that is less, it is closed, unless its loop says to lower it: then it goes
 * on with the rest, or has to say who it is again.  Not within a step of another connection. */
void admit_again(struct connection *c);

#endif
