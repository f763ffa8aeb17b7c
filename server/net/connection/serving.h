/* What serving changes in a connection, for the files of this room.  Thread: the loop's. */
#ifndef ERGON_NET_CONN_SERVING_H
#define ERGON_NET_CONN_SERVING_H

#include "proto/envelope.h"
#include "server/net/connection/conn_private.h"
#include "server/net/serving.h"
#include "server/runtime/object/trace.h"

/* It serves, and does no longer; its port has still to hear of it, and a drain waits for it again.
 */
static inline void serving_end(struct connection *c)
{
    TRACE(c->loop->activator, "conn", conn_id(c), "serves no longer");
    c->serves = c->looks = c->cold->unheard = false;
    if (c->cold->stays)
        atomic_fetch_sub_explicit(&c->loop->staying, 1, memory_order_relaxed);
    c->cold->stays = false;
}

/* Something of its output may have gone: tells its port.  Last in whatever calls it, since the port
 * may close the connection. */
void serving_wrote(struct connection *c);

/* Within its step, while the server drains: if it owes nothing any more, the drain need not wait
 * for it. */
void serving_drains(struct connection *c);

/* The peer's own request or notification: what to refuse it with.  ERGON_OK: it is handed over. */
enum ergon_error serving_refuses(const struct connection *c, const struct envelope *e);
/* So many refusals wait to be read that there has to be an end. */
bool serving_overflows(const struct connection *c);

/* It is time to look: true when its peer's system acknowledges nothing any more. */
bool serving_look(struct connection *c);

#endif
