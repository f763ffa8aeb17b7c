/* The place of a job that waits for its limit or its rate, and the jobs that have and want permits
 * of a limit, for task.explain and sem.explain.
 *
 * Thread: the jobs'.  Nothing here blocks or changes anything. */
#ifndef ERGON_JOBS_WAIT_POSITION_H
#define ERGON_JOBS_WAIT_POSITION_H

#include "server/jobs/sched/limits.h"

/* The reason why the job waits: that of its line, which may have moved to its other gate since the
 * job joined it; NO_EXECUTOR, if it is queued and no executor runs its method; else the reason that
 * was recorded. */
enum job_reason limits_reason(const struct job *job);
/* How many wait before it at its gate; of one in no line 0.  Takes one off `looks` for each job and
 * line that it looks at, and stops when none is left. */
uint32_t limits_before(const struct job *job, uint32_t *looks);
/* When its token comes, if those before it take theirs as early as they may. */
ao_time limits_token_at(const struct job *job, uint32_t before, ao_time now);

enum { LOOKS_MAX = 10000 /* for `looks`: about a millisecond */ };

/* How many wait at the gate of the limit; those that wait at the gate of a rate do not count. */
uint64_t limits_waiting(const struct limit *limit);
/* The first that wait there, in order, at most `max`.  Takes one off `looks` for each that it looks
 * at; when none is left, some that it has not seen may go before those that it found.  Returns how
 * many. */
uint32_t limits_first(const struct limit *limit, const struct claim **first, uint32_t max,
                      uint32_t *looks);
/* Jobs that have permits of the limit, those of attempts that were given up and have not returned
 * first; at most `max`, and in as many looks.  Returns how many. */
uint32_t limit_jobs(const struct scheduler *s, const struct limit *limit, const struct job **jobs,
                    uint32_t max, uint32_t *looks);

#endif
