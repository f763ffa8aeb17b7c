/* Percentiles in the text format of HdrHistogram, which plotting tools take. */
#ifndef ERGON_CLI_BENCH_HGRM_H
#define ERGON_CLI_BENCH_HGRM_H

#include "client/cli/histogram.h"

#include <stdio.h>

/* Values in milliseconds.  Errors stay in `out`, as ferror() tells. */
void bench_hgrm_print(FILE *out, const struct histogram *h);

/* Before a long run: whether bench_hgrm_write() will be able to.  False: a message was printed. */
bool bench_hgrm_check(const char *path);

/* Writes a file; false: a message was printed. */
bool bench_hgrm_write(const char *path, const struct histogram *h);

#endif
