/* Points at which a thread may be preempted, and stay away for a while; in schedule.c. */
#ifndef ERGON_SIM_POINTS_H
#define ERGON_SIM_POINTS_H

#include <stdint.h>

void sim_point(const char *name); /* on whatever runs */
/* There are so many that a fiber is preempted more rarely, and is away for a few us, seldom more.
 */
void sim_point_atomic(const char *name);

/* Who says how long a fiber stays away from a point, in ns (0: it goes on), in the place of chance;
 * and who hears of it. */
void sim_stalls_by(uint64_t (*stall)(const char *point));
void sim_on_stall(void (*heard)(const char *point, uint64_t ns));

void sim_schedule_calm(void); /* from now on all go on at once */

#endif
