/* The `max` of limits and the numbers of rates as state of their own: once they were changed, what
 * is in force need not be what a task says that is left.  It has a row (persist/rates.h,
 * rates.h), as durable as the most durable job or hold that uses it.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_NUMBERS_H
#define ERGON_JOBS_NUMBERS_H

#include "server/jobs/sched/scheduler.h"

/* The spec of a job that is read back, with the numbers that are in force: those of its own only if
 * it came after the rows that say them.  (Tasks come behind these, in the order of their ids.) */
struct job_spec numbers_in_force(const struct scheduler *s, const struct job *job,
                                 const struct job_spec *spec);
/* The size of the limit, or what uses it, is another: persist/ is to write its row, if it needs
 * one. */
void numbers_note_limit(struct scheduler *s, struct limit *limit);
/* The submission of the job changed numbers that are to be on disk before it is answered, though
 * the job need not be: others that are fsync use them. */
bool numbers_wait(const struct job *job);
/* A limit without lines, whose row is gone, goes, with the reference to its tenant that a limit
 * with a row has. */
void numbers_drop_limit(struct scheduler *s, struct limit *limit);

#endif
