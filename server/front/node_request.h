/* A request of the owner to a node, as to any worker (PROTOCOL.md, Workers): its last parameter is
 * a map, its context.  Pure; any thread. */
#ifndef ERGON_FRONT_NODE_REQUEST_H
#define ERGON_FRONT_NODE_REQUEST_H

#include "proto/envelope.h"
#include "server/front/node_calls.h"

/* Reads all but the method.  `now` is the loop's time; spans are the message's.  What the context
 * says beyond what is known here is ignored.  False: the request is malformed. */
bool node_request_read(const struct envelope *e, ao_time now, struct node_call_request *out);

#endif
