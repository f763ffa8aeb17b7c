/* Requests that the ledger answers: a request becomes an ask, goes through the loop's door, and
 * comes back as a response.  Thread: the loop's. */
#ifndef ERGON_RPC_ASKS_H
#define ERGON_RPC_ASKS_H

#include "server/ledger/ledger.h"
#include "server/rpc/options.h"

/* An ask while its parameters are read.  They are copied first: the spans that readers give point
 * into memory of the ask. */
struct ask_build {
    struct rpc_request *rq;
    struct ask *ask;
    struct reader r; /* at the first parameter */
    uint32_t count;  /* parameters */
    uint64_t *ids;   /* room for as many ids as the parameters can hold; moved on by its users */
    uint32_t item;   /* of several orders: which one is being read, from 1; else 0 */
};

/* False: answered (MEMORY).  `orders`: how many the ask will have. */
bool ask_begin(struct ask_build *b, struct rpc_request *rq, enum ask_verb verb, uint32_t orders);
void ask_abort(struct ask_build *b); /* the request was answered already */
/* `poll`: it may wait for long, and does not count as a call in flight; of too many the last are
 * answered BUSY. */
void ask_send(struct ask_build *b, bool poll);

/* Reads an id, or a list of them, into the ask.  False: answered BAD_PARAMS with `usage`. */
bool ask_read_id(struct ask_build *b, const char *usage);
bool ask_read_ids(struct ask_build *b, const char *usage);

/* Is this call, of a connection's list, an ask? */
bool call_is_ask(const struct call *call);
void ask_give_up(struct rpc_loop *loop, struct call *call); /* nobody reads its answer any more */

/* The same, but its request is answered CANCELLED now. */
void ask_cancel(struct rpc_loop *loop, struct call *call);

/* Of ledger_door_open(); `arg` is the rpc_loop. */
void rpc_ask_answered(void *arg, struct ask *a);
void rpc_ask_pushed(void *arg, struct ask_push *push);

#endif
