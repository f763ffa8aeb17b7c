/* The reports of a load run as JSON; docs/bench.md names the members.  Pure, but for what is
 * printed. */
#ifndef ERGON_BENCH_REPORT_JSON_H
#define ERGON_BENCH_REPORT_JSON_H

#include "client/bench/report.h"

#include <jansson.h>

/* Of one run.  The caller decrefs; NULL: out of memory. */
json_t *report_json_run(const struct bench *b, const struct load_result *r);

/* Of a sweep: the rows, and the run at the highest rate, which is the plan's.  The caller decrefs;
 * NULL: out of memory. */
/* Of a ramp. */
json_t *report_json_ramp(const struct bench *b, const struct bench_rows *rows);

json_t *report_json_sweep(const struct bench *b, const struct bench_rows *rows,
                          const struct load_result *best);

/* Prints one line to standard output; takes `j` over.  False: `j` is NULL, or standard output did
 * not take it. */
bool report_json_print(json_t *j);

#endif
