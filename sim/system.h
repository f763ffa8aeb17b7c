/* Functions that the linker calls instead of the system's (--wrap, see CMakeLists.txt): threads,
 * semaphores, locks, conditions, clocks, sleep, and what the machine has.  Each function has the
 * prototype of the one whose place it takes, and nobody calls it by its own name.
 *
 * A fiber may be preempted before it takes a lock, and never while it holds one unless it sleeps
 * itself. */
#ifndef ERGON_SIM_SYSTEM_H
#define ERGON_SIM_SYSTEM_H

#include <stdint.h>

#define SIM_EPOCH (UINT64_C(1700000000) * 1000000000) /* ns since 1970 when the world begins */

#endif
