/* Workers of all connections: requests that list them, and that mean a worker of another
 * connection.
 *
 * Thread: that of the loop that has the request. */
#ifndef ERGON_WORKERS_LIST_H
#define ERGON_WORKERS_LIST_H

#include "server/rpc/method.h"

/* "w17" is 17.  False: it is no such text. */
bool worker_id_parse(struct span text, uint64_t *number);

/* The worker of this number is to be quiet, or to take tasks again; answered when the manager knows
 * it. Any client may ask that of its own principal's workers, and one with the right worker.any of
 * others'. */
void worker_settle(struct rpc_request *rq, uint64_t number, bool quiet);

#endif
