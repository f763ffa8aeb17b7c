/* When a failed task is tried again.  Pure. */
#ifndef ERGON_JOBS_BACKOFF_H
#define ERGON_JOBS_BACKOFF_H

#include <ergon/ao.h>

/* The wait after the n-th failure (from 1): backoff x 2^(n-1), at most `max`, of which `jitter`
 * percent are left to chance (`random`: any 64 bits), so that tasks that failed together do not
 * come together ("full jitter" at 100). */
ao_time backoff_wait(ao_time backoff, ao_time max, uint8_t jitter, uint32_t n, uint64_t random);

/* Is it of no use to try again?  Of a failure's code: NO_METHOD, NO_EXECUTOR, BAD_PARAMS,
 * TOO_LARGE, TOO_DEEP, DENIED, and whatever starts with PERMANENT. */
bool backoff_is_permanent(const char *code);

#endif
