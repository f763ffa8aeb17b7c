/* The reports of a load run as JSON. */
#ifndef ERGON_CLI_BENCH_JSON_H
#define ERGON_CLI_BENCH_JSON_H

#include "client/cli/bench_report.h"

#include <jansson.h>

/* Of one run.  The caller decrefs; NULL: out of memory. */
json_t *bench_json(const struct globals *g, const struct load_plan *plan,
                   const struct load_result *r);

/* Of a sweep: the rows, and the run at the highest rate. */
json_t *bench_json_sweep(const struct globals *g, const struct bench_plan *b,
                         const struct bench_rows *rows, const struct load_result *best);

/* One line to standard output; takes `j` over.  False: not written. */
bool bench_json_print(json_t *j);

#endif
