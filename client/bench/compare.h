/* Two reports of `ergon bench --json` side by side.  One thread; files are read, so it may block.
 */
#ifndef ERGON_BENCH_COMPARE_H
#define ERGON_BENCH_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

/* Prints both reports and the ratio of the second to the first, as text or as JSON, and what of
 * their plans differs.  False: a file cannot be read, or is no report of one run with a result, and
 * `why` says which and why. */
bool compare_print(const char *first, const char *second, bool json, char *why, size_t why_size);

#endif
