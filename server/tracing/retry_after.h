/* How long a collector asks us to wait: the header Retry-After, in seconds or as a date.
 * Pure; any thread. */
#ifndef ERGON_TRACING_RETRY_AFTER_H
#define ERGON_TRACING_RETRY_AFTER_H

#include <stdint.h>

enum { RETRY_AFTER_MAX_S = 300 };

/* Seconds, RETRY_AFTER_MAX_S at most; 0: it says nothing, nothing that can be read, or a moment
 * that has passed.  `date` is the answer's header Date, by whose clock a date counts; NULL, or one
 * that cannot be read: `now` (Unix s) does.  Dates are those of RFC 9110, the old forms too. */
unsigned retry_after(const char *text, const char *date, int64_t now);

#endif
