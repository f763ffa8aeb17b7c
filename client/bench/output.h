/* Files that a load run writes at its end.  Any thread, one at a time on a file; may block. */
#ifndef ERGON_BENCH_OUTPUT_H
#define ERGON_BENCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* Before a long run: whether the file can be opened for writing.  False: `why` names it and says
 * why not. */
bool output_check(const char *path, char *why, size_t why_size);

/* Writes it anew: what `print` writes of `what`.  False: it could not be opened, or not be written
 * whole, and `why` names it and says why. */
bool output_write(const char *path, void (*print)(FILE *out, const void *what), const void *what,
                  char *why, size_t why_size);

#endif
