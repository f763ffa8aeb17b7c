/* Percentiles in the text format of HdrHistogram, which plotting tools take.
 *
 * Any thread, one at a time on a file; files are written, so it may block.  The histogram is
 * borrowed. */
#ifndef ERGON_BENCH_HGRM_H
#define ERGON_BENCH_HGRM_H

#include "client/bench/hdr_histogram.h"

#include <stdio.h>

/* Values in milliseconds.  Errors stay in `out`, as ferror() tells. */
void hgrm_print(FILE *out, const struct hdr_histogram *h);

/* Writes a file.  False: it could not be opened, or not be written whole, and `why` names the path
 * and says why. */
bool hgrm_write(const char *path, const struct hdr_histogram *h, char *why, size_t why_size);

#endif
