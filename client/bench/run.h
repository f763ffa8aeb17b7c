/* The whole of `ergon bench`: one load run, a sweep or a ramp of rates, with a line of progress
 * meanwhile and a report at the end, on standard output.  One thread calls; the load has its own.
 */
#ifndef ERGON_BENCH_RUN_H
#define ERGON_BENCH_RUN_H

#include "client/bench/report.h"

#include <ergon/client.h>

/* Runs it and prints its report.  `b` stays the caller's; while it runs, its rate is that which is
 * being tried.  A run that broke or was lost in part is reported, too, and the value says so:
 *
 *   INVALID      a file of the target cannot be used, or a file cannot be written: `why`
 *   UNREACHABLE  no load was possible: `why`; or connections broke: in the report
 *   DENIED       the server refused the token: `why`
 *   TIMEOUT      answers did not come
 *   ERROR        answers with errors; no result, or no rate that meets the objective; the report
 *                could not be written
 *   CANCELLED    stop_fd ended it before there was something to report
 *
 * `why` is "" where the report says it. */
enum ergon_end bench_run(struct bench *b, char *why, size_t why_size);

#endif
