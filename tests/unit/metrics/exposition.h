/* A reader of OpenMetrics text that fails the test where the text breaks a rule: each family is
 * typed once and before its samples, with help, in one piece; names and suffixes fit its type; no
 * sample comes twice; buckets count up to +Inf, which is the count; the last line is # EOF. */
#ifndef ERGON_TESTS_EXPOSITION_H
#define ERGON_TESTS_EXPOSITION_H

#include "server/metrics/text.h"

/* Checks all of it. */
void exposition_check(const struct metrics_text *t);

/* The value of the sample whose line begins with this text and a blank; fails if there is none. */
double exposition_value(const struct metrics_text *t, const char *sample);
/* Is there one? */
bool exposition_has(const struct metrics_text *t, const char *sample);

#endif
