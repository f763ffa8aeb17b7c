/* The part that operations share which submit: a spec becomes a job, and the job an outcome.
 *
 * Thread: the jobs', but for submission_fini(). */
#ifndef ERGON_JOBS_SUBMISSION_H
#define ERGON_JOBS_SUBMISSION_H

#include "server/jobs/service/operation.h"

/* Room for the outcomes.  False: the operation was answered MEMORY. */
bool submission_begin(struct operation *op);

/* Submits the `i`th, and writes its outcome.  NULL: it was refused, and the outcome says why (the
 * errors of job_submit()). */
struct job *submission_take(struct jobs *jobs, struct operation *op, uint32_t i);

/* The job of the `i`th is on disk, or was refused with an error. */
void submission_saved(struct jobs *jobs, struct operation *op, uint32_t i, struct job *job,
                      enum store_error error);

/* The only spec was refused: the operation is answered with its outcome's error. */
void submission_refuse(struct operation *op);

/* The `fini` of these kinds, on the loop's thread: frees the outcomes. */
void submission_fini(struct operation *op);

#endif
