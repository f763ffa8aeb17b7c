/* A load run: many connections with many requests in flight each, driven by some threads, either as
 * fast as answers come (closed loop) or at a rate of its own (open loop).
 *
 * Thread: one calls, and blocks; the threads of the load are begun and ended within the call. */
#ifndef ERGON_BENCH_LOAD_H
#define ERGON_BENCH_LOAD_H

#include "client/bench/plan.h"
#include "client/bench/result.h"

#include <ergon/client.h>

/* Blocks for the whole run; any thread.  load_result_fini() must follow in any case.
 *
 *   OK           it ran, whatever the answers were
 *   CANCELLED    stop_fd ended it before its first request
 *   INVALID      a file of the target is of no use: result->why
 *   DENIED       the server refused the token: result->why
 *   UNREACHABLE  a connection could not be opened, or there is too little memory or too few
 *                threads: result->why */
enum ergon_end load_run(const struct load_plan *plan, struct load_result *result);

#endif
