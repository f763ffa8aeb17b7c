/* Submissions that were rows of the store's inbox (docs/own-transaction.md): each row becomes one
 * task or joins one, and goes in the transaction that writes this, or soon behind it.
 *
 *   new      its first row is held until the end of the piece of work, and pushed with the row
 *   joined   nothing of it is new, or it is already: the row is removed in this step, so before
 *            whatever becomes of the task
 *   hardens  the row is removed when the task is as durable as wanted
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_INTAKE_H
#define ERGON_JOBS_INTAKE_H

#include "server/jobs/operations/operation.h"

/* May the row become what was just made or joined?  Not if that would be in memory alone. */
bool intake_admits(const struct job_spec *spec, const struct job *job, bool hardens);
/* The spec of this number has become the job, or joined it; no effect of that was applied. */
void intake_taken(struct jobs *jobs, struct operation *op, uint32_t i, struct job *job);
/* The job that it joined is as durable as wanted. */
void intake_hardened(struct jobs *jobs, struct operation *op, uint32_t i);
/* Pushes what is held of the specs from this number on.  Applies effects. */
void intake_push(struct jobs *jobs, struct operation *op, uint32_t from);

#endif
