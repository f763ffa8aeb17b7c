/* What the command line prints, to both outputs, kept instead of printed; and what holds of it.
 *
 * One thread; once at a time. */
#ifndef ERGON_TESTS_FUZZ_OUTPUT_H
#define ERGON_TESTS_FUZZ_OUTPUT_H

#include <stdbool.h>

#include "base/span.h"

/* All of these abort when the system refuses, or more is printed than an input can ask for. */
void fuzz_output_begin(void);
struct span fuzz_output_end(void); /* what was printed since; until the next begin */

/* UTF-8 that cannot steer a terminal; nor, on `one_line`, break it, or have a tab. */
void fuzz_check_plain(struct span text, bool one_line);

size_t fuzz_lines(struct span text); /* ends of lines in it */

#endif
