/* The option map that a method of the server's own may take as its last parameter. */
#ifndef ERGON_RPC_OPTIONS_H
#define ERGON_RPC_OPTIONS_H

#include "proto/options.h"
#include "server/rpc/method.h"

/* As options_take(); what is wrong is answered BAD_PARAMS, and false returned. */
bool options_read(struct rpc_request *rq, struct reader *r, const struct option *options,
                  uint32_t count);

#endif
