/* What happens on a connection, of which workers are to hear, if it has some (workers.h).
 *
 * Thread: the loop's. */
#ifndef ERGON_WORKERS_EVENTS_H
#define ERGON_WORKERS_EVENTS_H

#include "server/rpc/method.h"

/* A response came, for one of our requests or none. */
void worker_answered(struct rpc_loop *loop, struct connection *c, const struct envelope *e);

/* Some of its output has been handed to the stream.  False: the connection has no workers. */
bool worker_flushed(struct connection *c);

/* No answer will come over it any more; `why`, for people, is constant. */
void worker_gone(struct connection *c, const char *why);

/* Of a connection's list of calls: is it a request about a worker that waits for the manager?
 * Nobody waits for its answer any more. */
bool call_is_worker_wait(const struct call *call);
void worker_wait_give_up(struct call *call);

#endif
