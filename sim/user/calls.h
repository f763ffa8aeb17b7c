/* What the code of a module, and of what came with it, calls of the system: these functions are
 * exported, so that a shared object finds them before the C library's.
 *
 * Time, sleep, chance, locks and semaphores are the simulation's.  A socket, a thread or a process
 * ends the run, unless a stand-in has a function of the name.  Other callers get the system's. */
#ifndef ERGON_SIM_USER_CALLS_H
#define ERGON_SIM_USER_CALLS_H

#include <ergon/sim.h>

#endif
