/* The part that all submitting operations share: it turns a spec into a job, and that into an
 * outcome.
 *
 * Thread: the jobs', but for submission_fini(). */
#ifndef ERGON_JOBS_SUBMISSION_H
#define ERGON_JOBS_SUBMISSION_H

#include "server/jobs/service/operation.h"

/* Makes room for the outcomes.  False: the operation was answered MEMORY. */
bool submission_begin(struct operation *op);

/* Submits spec `i`, and writes its outcome.  NULL: it was refused, and the outcome has the error,
 * one of job_submit()'s. */
struct job *submission_take(struct jobs *jobs, struct operation *op, uint32_t i);

/* Completes outcome `i` when the row of its job is on disk, or could not be written. */
void submission_saved(struct jobs *jobs, struct operation *op, uint32_t i, struct job *job,
                      enum store_error error);

/* Answers the operation, whose only spec was refused, with the error of its outcome. */
void submission_refuse(struct operation *op);

/* The `fini` of submitting kinds, on the loop's thread: frees the outcomes. */
void submission_fini(struct operation *op);

#endif
