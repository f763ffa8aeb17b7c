/* Requests that the ledger answers: a request becomes an operation, goes through the loop's door,
 * and comes back as a response.  Thread: the loop's. */
#ifndef ERGON_RPC_ASKS_H
#define ERGON_RPC_ASKS_H

#include "server/jobs/jobs.h"
#include "server/rpc/options.h"

/* An operation while its parameters are read.  They are copied first: the spans that readers give
 * point into memory of the operation. */
struct operation_build {
    struct rpc_request *rq;
    struct operation *op;
    struct reader r; /* at the first parameter */
    uint32_t count;  /* parameters */
    uint64_t *ids;   /* room for as many ids as the parameters can hold; moved on by its users */
    uint32_t item;   /* of several orders: which one is being read, from 1; else 0 */
};

/* False: answered (MEMORY).  `orders`: how many the operation will have. */
bool operation_begin(struct operation_build *b, struct rpc_request *rq, enum operation_kind verb,
                     uint32_t orders);
void operation_abort(struct operation_build *b); /* the request was answered already */
/* `poll`: it may wait for long, and does not count as a call in flight; of too many the last are
 * answered BUSY. */
void operation_send(struct operation_build *b, bool poll);

/* Reads an id, or a list of them, into the operation.  False: answered BAD_PARAMS with `usage`. */
bool operation_read_id(struct operation_build *b, const char *usage);
bool operation_read_ids(struct operation_build *b, const char *usage);

/* Is this call, of a connection's list, an operation? */
bool call_is_operation(const struct call *call);
void operation_give_up(struct rpc_loop *loop,
                       struct call *call); /* nobody reads its answer any more */

/* The same, but its request is answered CANCELLED now. */
void operation_cancel(struct rpc_loop *loop, struct call *call);

/* Of jobs_channel_open(); `arg` is the rpc_loop. */
void rpc_operation_answered(void *arg, struct operation *op);
void rpc_operation_pushed(void *arg, struct operation_push *push);

#endif
