/* Results of the server's own methods, answered at once. */
#ifndef ERGON_RPC_PACK_H
#define ERGON_RPC_PACK_H

#include "proto/pack.h"
#include "server/rpc/method.h"

/* Answers the request, MEMORY if packing failed; ends the pack. */
void pack_answer(struct pack *p, struct rpc_request *rq);

#endif
