/* MessagePack-RPC for the load generator: [0, slot, method, params] answered by [1, slot, error,
 * result], in any order.  A connection begins as those of libergon do: it says that it never
 * half-closes.  One with a token then sends server.auth and waits for its answer.
 *
 * Thread: the work is made before the load, and read by all of its threads. */
#ifndef ERGON_BENCH_RPC_H
#define ERGON_BENCH_RPC_H

#include "client/bench/mix.h"
#include "client/bench/protocol.h"
#include "proto/encoder.h"
#include "proto/envelope.h"

extern const struct protocol RPC;

/* One request but for its slot: the head, the payload as bytes or `params`, and `after`. */
struct rpc_call {
    uint8_t head[32 + METHOD_NAME_MAX];
    size_t head_len;
    bool payload;
    struct span params, after; /* raw; the caller's */
};

/* The work of this protocol.  It owns nothing: what calls point to, and the token, are the
 * caller's. */
struct rpc_work {
    struct rpc_call calls[BENCH_MIX_MAX];
    uint32_t count;    /* of them; a load needs one at least */
    const char *token; /* NULL: none */
};

void rpc_work_init(struct rpc_work *w, const char *token);

/* One more, of which there are fewer than BENCH_MIX_MAX so far: a call of `method`, of at most
 * METHOD_NAME_MAX bytes, with the raw array `params`; where that is empty, the payload is the one
 * parameter. */
void rpc_work_call(struct rpc_work *w, struct span method, struct span params);

/* The same, submitted as a task: task.submit with `options`, a raw map. */
void rpc_work_submission(struct rpc_work *w, struct span method, struct span params,
                         struct span options);

#endif
