/* task.submit_many: a list of jobs in one request, which is refused as a whole.
 *
 * A long list is read in parts, one in each step of its connection, so that no step is long.
 * Meanwhile the request is a call of the connection, and its operation is the loop's.  When the
 * last part was read, the operation goes to the jobs.
 *
 * Thread: the loop's. */
#ifndef ERGON_RPC_SUBMIT_MANY_H
#define ERGON_RPC_SUBMIT_MANY_H

#include "server/rpc/method.h"

/* The next part of the list that this connection is being read: a conn_port's `part`; `arg` is the
 * rpc_loop. */
void submit_many_read_part(void *arg, struct connection *c);

/* Is this call, of a connection's list, one whose list is being read?  None is when another message
 * of its connection comes. */
bool call_is_reading(const struct call *call);
/* Nobody reads the answer of this call any more: its list is not read further, and nothing is
 * submitted. */
void submit_many_give_up(struct call *call);

#endif
