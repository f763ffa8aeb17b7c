/* Calls of connection.*, which walk through the connections of all loops.
 *
 * Thread: that of the loop that was asked. */
#ifndef ERGON_RPC_CONNECTION_METHODS_H
#define ERGON_RPC_CONNECTION_METHODS_H

#include "server/rpc/method.h"

/* Is this call, of a connection's list, such a one? */
bool call_is_census(const struct call *call);
/* Nobody reads its answer any more: it goes its way, in silence. */
void census_give_up(struct call *call);
/* The same, but its request is answered CANCELLED now. */
void census_cancel(struct call *call);

#endif
