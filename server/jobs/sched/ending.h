/* The end of a job.  Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_ENDING_H
#define ERGON_JOBS_ENDING_H

#include "server/jobs/sched/scheduler.h"

/* Ends an open job for good; of another a no-op.  `code` and `text` of an error are copied; NULL:
 * it has none.  The end of a durable job is seen when it is on disk: until then the job is open,
 * with JOB_ENDING, and goes nowhere. */
void job_end(struct scheduler *s, struct job *job, enum job_state state, const char *code,
             const char *text);
/* The end of a durable job is on disk. */
void job_end_saved(struct scheduler *s, struct job *job);

/* Keeps the error of the last attempt, or of the whole; both texts are copied.  Without memory the
 * job shows the error that it had before, or none. */
void job_set_error(struct scheduler *s, struct job *job, const char *code, const char *text);

/* Where the end is kept; made when there is none yet, NULL without memory.  The caller weighs. */
struct job_result *job_result_of(struct job *job);

#endif
