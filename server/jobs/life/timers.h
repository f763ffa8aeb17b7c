/* What is due by the clock.  A job has one timer, which sleeps until the first of the times that
 * count in its state.  Thread: the jobs'. */
#ifndef ERGON_JOBS_TIMERS_H
#define ERGON_JOBS_TIMERS_H

#include "server/jobs/sched/scheduler.h"

/* The next time that counts; AO_NEVER: none. */
ao_time timers_next(const struct job *job);
/* Makes the timer sleep until then.  In the timer's own step a no-op: that step's end does it. */
void timers_arm(struct job *job);
/* Is it due by a time that the wall clock tells? */
static inline bool timers_follow_wall(const struct job *job)
{
    return job->state == JOB_DELAYED || job->deadline != AO_NEVER;
}
/* So much time has passed that the activator's clock does not know of: what is due moves ahead. */
void timers_advance(struct scheduler *s, ao_time by);
/* The wall clock was set back by so much: what is shown of deadlines is, too, and what is left of
 * them stays. */
void timers_set_back(const struct scheduler *s, uint64_t by);
/* The timer has woken: does what is due, if anything is. */
void timers_due(struct scheduler *s, struct job *job);

#endif
