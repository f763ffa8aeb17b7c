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

#endif
