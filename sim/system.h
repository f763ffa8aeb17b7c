/* Functions that the linker calls instead of the system's (--wrap, see CMakeLists.txt): threads,
 * semaphores, locks, conditions, clocks, sleep, and what the machine has.  Each function has the
 * prototype of the one whose place it takes, and nobody calls it by its own name.
 *
 * A fiber may be preempted before it takes a lock, and never while it holds one unless it sleeps
 * itself. */
#ifndef ERGON_SIM_SYSTEM_H
#define ERGON_SIM_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#define SIM_EPOCH (UINT64_C(1700000000) * 1000000000) /* ns since 1970 when the world begins */

uint64_t sim_wall(void); /* ns since 1970, by the wall clock */

/* Somebody sets the wall clock; or the machine sleeps, which stops all and lasts no time by the
 * clock that runs while it is awake.  From then on what depends on the wall clock is not checked.
 */
void sim_clock_leap(int64_t ns);
void sim_clock_suspend(uint64_t ns);
bool sim_clock_leapt(void); /* either has been */

#endif
