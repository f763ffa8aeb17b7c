/* MessagePack-RPC for the load generator: [0, slot, method, params] answered by [1, slot, error,
 * result], in any order.  A connection begins as those of libergon do: it says that it never
 * half-closes.  One with a token then sends server.auth and waits for its answer.
 *
 * Thread: the work is made before the load, and read by all of its threads. */
#ifndef ERGON_BENCH_RPC_H
#define ERGON_BENCH_RPC_H

#include "client/bench/protocol.h"
#include "proto/encoder.h"
#include "proto/envelope.h"

extern const struct protocol RPC;

/* The work of this protocol.  It owns nothing: tail and token are the caller's. */
struct rpc_work {
    uint8_t head[16 + METHOD_NAME_MAX]; /* of a request, but for the slot */
    size_t head_len;
    bool payload;      /* behind which the payload stands, as bytes */
    struct span tail;  /* raw; ends the request */
    const char *token; /* NULL: none */
};

/* Cannot fail.  A call of `method`, of at most METHOD_NAME_MAX bytes, with the raw array `params`;
 * where that is empty, the payload is the one parameter. */
void rpc_work_init(struct rpc_work *w, struct span method, struct span params, const char *token);

#endif
