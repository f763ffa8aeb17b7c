/* Who a peer is before it has said a word: by certificate, or by the credentials of its socket. */
#ifndef ERGON_NET_ADMIT_H
#define ERGON_NET_ADMIT_H

#include <stdbool.h>

struct connection;

/* After the handshake.  Sets the connection's principal by the rules of its listener.  False when
 * the peer must not be served (logged). */
bool admit_peer(struct connection *c);

#endif
