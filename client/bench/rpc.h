/* MessagePack-RPC for the load generator: [0, slot, method, params] answered by [1, slot, error,
 * result], in any order.  A connection with a token begins with server.auth and waits for its
 * answer. */
#ifndef ERGON_BENCH_RPC_H
#define ERGON_BENCH_RPC_H

#include "client/bench/protocol.h"
#include "proto/encoder.h"
#include "proto/envelope.h"

extern const struct protocol RPC;

/* The work of this protocol.  It owns nothing: params and token are the caller's. */
struct rpc_work {
    uint8_t head[16 + METHOD_NAME_MAX]; /* a request up to its parameters, but for the slot */
    size_t head_len;
    struct span params; /* raw; where it is empty, the payload is the one parameter, as bytes */
    const char *token;  /* NULL: none */
};

/* `method` has at most METHOD_NAME_MAX bytes. */
void rpc_work_init(struct rpc_work *w, struct span method, struct span params, const char *token);

/* For protocols that send other requests of MessagePack-RPC, with the slot as their id. */
enum answer_kind rpc_parse(const void *work, struct scanner *scanner, const char *at, size_t n,
                           struct answer *a);

#endif
