/* Operations on all jobs that a filter means, in small steps: a million of them hold up nobody.
 *
 * Thread: the jobs'.  The operations are the jobs' until they are answered. */
#ifndef ERGON_JOBS_SWEEP_H
#define ERGON_JOBS_SWEEP_H

#include <stdbool.h>

struct jobs;

/* A step of each that is under way; effects_apply() follows.  True: nothing is left to do before
 * more of the writes come back. */
bool sweep_go_on(struct jobs *jobs);
/* Those that are under way are answered DRAINING. */
void sweep_stop(struct jobs *jobs);

#endif
