#include "base/tracepoint.h"

#ifdef ERGON_HAS_SDT

/* The notes of the probes name them, where no compiler sees it, and others write them: so this file
 * is none that is optimised together with the rest of the program (CMakeLists.txt). */
#define X(name) __attribute__((section(".probes"), used)) unsigned short ergon_##name##_semaphore;
TRACEPOINTS(X)
#undef X

#else

extern int tracepoint_none; /* a file is never empty */

#endif
