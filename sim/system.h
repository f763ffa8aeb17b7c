/* Functions that the linker calls instead of the system's (--wrap, see CMakeLists.txt): threads,
 * semaphores, locks, conditions, clocks, sleep, and the size of the machine.  Each function has the
 * prototype of the function that it replaces, and is not called by its own name.
 *
 * A fiber may be preempted before it takes a lock.  While it holds a lock, it is not preempted
 * there; it loses the processor only when it sleeps by itself. */
#ifndef ERGON_SIM_SYSTEM_H
#define ERGON_SIM_SYSTEM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/schedule.h"

#define SIM_EPOCH (UINT64_C(1700000000) * 1000000000) /* ns since 1970 when the world begins */

/* ns since 1970, by the wall clock of the node whose fiber asks, or of a machine whose clock is
 * right but for sim_clock_leap(). */
uint64_t sim_wall(void);
uint64_t sim_wall_right(void); /* that of the other machines */

/* Set the wall clock, or suspend the machine: all fibers stop, and the monotonic clock does not
 * advance.  From then on promises that depend on the wall clock are not checked. */
void sim_clock_leap(int64_t ns);
void sim_clock_suspend(uint64_t ns);
bool sim_clock_leapt(void); /* one of them was called */
/* From now on the wall clock of this owner is ahead of the others' by so much. */
void sim_clock_set(enum sim_owner owner, int64_t ns);
/* The wall clocks of all nodes stand still, at the same time; `on` false: they are right again. */
void sim_clock_stand(bool on);

#endif
