/* Operations on all jobs that a filter means, in small steps: a million of them hold up nobody.
 *
 * Thread: the jobs'.  The operations are the jobs' until they are answered. */
#ifndef ERGON_JOBS_SWEEP_H
#define ERGON_JOBS_SWEEP_H

#include <stdbool.h>

struct jobs;

/* A step of one of those that are under way, of which principals take turns; effects_apply()
 * follows.  True: nothing is left to do before more of the writes come back. */
bool sweep_go_on(struct jobs *jobs);
/* Those that are under way are answered DRAINING; once, when the jobs stop. */
void sweep_stop(struct jobs *jobs);

#endif
