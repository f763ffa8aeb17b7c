/* One run, or many at rising rates, with a progress line. */
#ifndef ERGON_CLI_BENCH_SWEEP_H
#define ERGON_CLI_BENCH_SWEEP_H

#include "client/cli/bench_plan.h"

/* load_run() with a progress line; prints why it could not start.  The result is to be given to
 * load_result_fini() in either case. */
enum status bench_run(const struct globals *g, struct load_plan *plan, struct load_result *result);

/* Finds the highest rate that meets the objective, and prints each run.  STATUS_REMOTE: there is
 * none.  `histogram`: path for the latencies at that rate; NULL: none. */
enum status bench_sweep(const struct globals *g, struct bench_plan *b, const char *histogram);

#endif
