/* What a load run shows: a line while it runs, a report at its end. */
#ifndef ERGON_CLI_BENCH_REPORT_H
#define ERGON_CLI_BENCH_REPORT_H

#include "client/cli/cli.h"
#include "client/cli/load.h"

/* For load_plan.progress; `arg` is the plan.  Rewrites one line of standard error. */
void bench_progress(void *arg, uint32_t connected, uint64_t elapsed_ns, uint64_t answers);
void bench_progress_end(void); /* clears that line */

/* Prints the report and tells the exit status that the run deserves. */
enum status bench_report(const struct globals *g, const struct load_plan *plan,
                         const struct load_result *result);

#endif
