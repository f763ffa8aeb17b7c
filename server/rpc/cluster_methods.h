/* The cluster in answers of other methods.  Thread: the loop's. */
#ifndef ERGON_RPC_CLUSTER_METHODS_H
#define ERGON_RPC_CLUSTER_METHODS_H

#include "server/rpc/method.h"

/* The pair "cluster" of a map; nil: there is none. */
void cluster_pack(struct pack *p, const struct rpc_shared *s);

#endif
