/* Operations on all jobs that a filter selects, done in small steps, so that a million jobs do not
 * delay other operations.
 *
 * Thread: the jobs'.  The jobs own the operations until they are answered. */
#ifndef ERGON_JOBS_STEER_H
#define ERGON_JOBS_STEER_H

#include <stdbool.h>

struct jobs;
struct turns;

/* The sweeps that are under way. */
struct turns *jobs_sweeps(struct jobs *jobs);

/* Does a step of one sweep that is under way; principals take turns.  The caller then applies the
 * effects.  True: nothing is left to do, or nothing before more writes have come back. */
bool sweep_go_on(struct jobs *jobs);
/* Answers the sweeps that are under way DRAINING; called once, when the jobs stop. */
void sweep_stop(struct jobs *jobs);

#endif
