/* task.submit_many, batch.add: a list of jobs in one request, which is refused as a whole.
 *
 * A long list is read in parts, one in each step of its connection, so that no step is long.
 * Meanwhile the request is a call of the connection, and its operation is the loop's.  When the
 * last part was read, the operation goes to the jobs.
 *
 * Thread: the loop's. */
#ifndef ERGON_RPC_SUBMIT_MANY_H
#define ERGON_RPC_SUBMIT_MANY_H

#include "server/rpc/method.h"

/* Reads the next part of the list that came by this connection: a conn_port's `part`; `arg` is the
 * rpc_loop. */
void submit_many_read_part(void *arg, struct connection *c);

/* Is this call, of a connection's list, one whose tasks are being read?  While one is, no other
 * message of its connection is served. */
bool call_is_reading(const struct call *call);
/* The answer of this call will not be read any more: no more of its tasks are read, and none is
 * submitted. */
void submit_many_give_up(struct call *call);

#endif
