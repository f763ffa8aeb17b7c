/* A connection closes so that another may have its place, or its memory.
 *
 * Thread: the loop's.  Nothing here fails. */
#ifndef ERGON_NET_GIVE_WAY_H
#define ERGON_NET_GIVE_WAY_H

#include "server/net/connection/conn_private.h"

/* Closes it now, for a reason that is logged, counted, and told to its peer if that takes
 * notifications: "server.closing".  The reason is constant.  What else waits to be written is lost
 * but for what the socket takes at once, and its calls end as those of any closed connection.  It
 * is not CLOSED yet; not within its step, but in HANDSHAKE. */
void conn_give_way(struct connection *c, const char *why);

#endif
