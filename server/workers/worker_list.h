/* Workers of all connections: who lists them, and who means one of another connection.
 *
 * Thread: the loop's that was asked. */
#ifndef ERGON_WORKERS_LIST_H
#define ERGON_WORKERS_LIST_H

#include "server/rpc/method.h"

/* "w17" is 17.  False: it is no such text. */
bool worker_id_parse(struct span text, uint64_t *number);

/* The worker of this number is to be quiet, or to take tasks again; answered when the manager knows
 * it.  Of its own principal's anybody may ask that, of others' who has worker.any. */
void worker_settle(struct rpc_request *rq, uint64_t number, bool quiet);

#endif
