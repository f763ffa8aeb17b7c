/* A connection closes so that another may have its place, or its memory; and what is said to a
 * peer whose connection is about to close.
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_CLOSING_H
#define ERGON_NET_CLOSING_H

#include "server/net/connection/conn_private.h"

enum { CLOSING_ROOM = 256 /* bytes of the last message to a peer */ };

/* The notification "server.closing", PROTOCOL.md; returns its end.  `why` has less than
 * CLOSING_ROOM / 2 bytes.  Pure. */
uint8_t *closing_put(uint8_t *p, enum ergon_error code, const char *why);

/* Tells a peer that takes notifications why: "server.closing", PROTOCOL.md.  The text is short. */
void conn_say_closing(struct connection *c, enum ergon_error code, const char *why);

/* Closes it now, for a reason that is logged, counted, and sent to its peer by conn_say_closing().
 * The reason is constant.  What else waits to be written is lost but for what the socket takes at
 * once, and its calls end as those of any closed connection.  It is not CLOSED yet; not within its
 * step, but in HANDSHAKE. */
void conn_evict(struct connection *c, const char *why);

#endif
