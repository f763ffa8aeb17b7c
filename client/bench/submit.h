/* Submitted tasks for the load generator: each request is task.submit, whose answer is its
 * acceptance, and then task.wait in the same slot, whose answer is its end.  The rest is as in
 * rpc.h; the work is one of rpc_work_submission().
 *
 * Thread: as rpc.h. */
#ifndef ERGON_BENCH_SUBMIT_H
#define ERGON_BENCH_SUBMIT_H

#include "client/bench/protocol.h"

extern const struct protocol RPC_SUBMITTED;

#endif
