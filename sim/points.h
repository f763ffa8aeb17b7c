/* Points at which a thread may be preempted, and then sleeps for a while; and threads that all
 * stand still.  Defined in schedule.c. */
#ifndef ERGON_SIM_POINTS_H
#define ERGON_SIM_POINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/schedule.h"

void sim_point(const char *name); /* for the fiber that runs */
/* There are many of these points: a fiber is preempted more rarely, and usually for a few us. */
void sim_point_atomic(const char *name);

/* `stall` returns how many ns a fiber sleeps at a point, in place of chance; 0: it goes on. `heard`
 * is called at each point with the ns. */
void sim_stalls_by(uint64_t (*stall)(const char *point));
void sim_on_stall(void (*heard)(const char *point, uint64_t ns));

void sim_schedule_calm(void); /* from now on no fiber sleeps at a point */

/* While it is on, no fiber of the owner runs: as after SIGSTOP, time passes nevertheless. */
void sim_freeze(enum sim_owner owner, bool on);

#endif
