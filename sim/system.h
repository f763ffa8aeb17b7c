/* What the linker puts in the place of the system's calls (--wrap, see CMakeLists.txt): threads,
 * semaphores, locks, conditions, clocks, sleep, chance, and what the machine has.
 *
 * Here are the prototypes alone, each as that of the function whose place it takes.  A fiber may be
 * preempted before it takes a lock, never while it holds one unless it sleeps itself. */
#ifndef ERGON_SIM_SYSTEM_H
#define ERGON_SIM_SYSTEM_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define SIM_EPOCH (UINT64_C(1700000000) * 1000000000) /* ns since 1970 when the world begins */

bool __wrap_chance_bytes(void *out, size_t size); /* chance.c */

#endif
