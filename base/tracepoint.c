#include "base/tracepoint.h"

#ifdef ERGON_HAS_SDT

/* The notes of the probes name them, where no compiler sees it, and others write them. */
#define X(name)                                                                                    \
    __attribute__((section(".probes"), used,                                                       \
                   externally_visible)) unsigned short ergon_##name##_semaphore;
TRACEPOINTS(X)
#undef X

#else

extern int tracepoint_none; /* a file is never empty */

#endif
