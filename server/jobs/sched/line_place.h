/* Where a job stands that waits for its limit or its rate: what task.explain tells.
 *
 * Thread: the jobs'.  Nothing here blocks or changes anything. */
#ifndef ERGON_JOBS_LINE_PLACE_H
#define ERGON_JOBS_LINE_PLACE_H

#include "server/jobs/sched/limits.h"

/* The reason why the job waits: that of its line, which may have moved to its
 * other gate since the job came there; else the one that was recorded. */
enum job_reason limits_reason(const struct job *job);
/* How many wait before it at its gate; of one in no line 0.  Takes one off `looks` for each job and
 * line that it looks at, and stops when none is left. */
uint32_t limits_before(const struct job *job, uint32_t *looks);
/* When its token comes, if those before it take theirs as early as they may. */
ao_time limits_token_at(const struct job *job, uint32_t before, ao_time now);

#endif
