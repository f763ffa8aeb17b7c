/* What is due by the clock.  A job has one timer, which sleeps until the first of the times that
 * count in its state.  Thread: the jobs'. */
#ifndef ERGON_JOBS_TIMERS_H
#define ERGON_JOBS_TIMERS_H

#include "server/jobs/sched/scheduler.h"

/* The next time that counts; AO_NEVER: none. */
ao_time timers_next(const struct job *job);
/* Makes the timer sleep until then.  In the timer's own step a no-op: that step's end does it. */
void timers_arm(struct job *job);
/* The timer has woken: does what is due, if anything is. */
void timers_due(struct scheduler *s, struct job *job);

#endif
