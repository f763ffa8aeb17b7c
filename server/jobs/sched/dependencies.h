/* What must be done first: an edge from the job that waits to each that is still open.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_DEPENDENCIES_H
#define ERGON_JOBS_DEPENDENCIES_H

#include "proto/errors.h"
#include "server/jobs/sched/scheduler.h"

/* Links a job to one that it comes after; `any`: however that ends.  ERGON_OK; or NOT_FOUND (no
 * such job) or BAD_PARAMS (the job is durable, and would wait for one that is not), and a text; or
 * MEMORY, without one. */
enum ergon_error dependencies_link(struct scheduler *s, struct job *job, uint64_t id, bool any,
                                   char *text, size_t size);

/* The rights of the submitter: for it, jobs that it may not wait for do not exist. */
struct dependent {
    bool (*may_wait)(const void *arg, const struct job *job,
                     const struct job *on);                  /* NULL: for any */
    bool (*may_read)(const void *arg, const struct job *on); /* its result; NULL: of any */
    const void *arg;
};

/* The same for all jobs that a spec names; those that the submitter may not wait for are NOT_FOUND.
 * Edges that were made before the error are freed with the job. */
enum ergon_error dependencies_join(struct scheduler *s, struct job *job,
                                   const struct job_spec *spec, const struct dependent *rights,
                                   char *text, size_t size);

/* May the job become durable?  BAD_PARAMS and a text: it waits for one that is kept in memory only.
 */
enum ergon_error dependencies_check_durable(const struct job *job, char *text, size_t size);

/* The job has ended: dependencies_release() releases its dependants in small steps, since a
 * hundred thousand may wait for one job, and whole chains may end with it.  Those that wait for
 * nothing more, or for one that had to end well and did not, go into `released`. */
void dependencies_ended(struct scheduler *s, struct job *job);
bool dependencies_release(struct scheduler *s, int budget); /* in edges; true: nothing is left */
void dependencies_finish(struct scheduler *s, struct job *job); /* the same for this job, at once */

void dependencies_unlink(struct scheduler *s, struct job *job); /* it waits for nothing any more */
void dependencies_forget(struct job *job);                      /* nor does anybody for it */
/* What it came after does not count any more, now or after a restart. */
void dependencies_settle(struct scheduler *s, struct job *job);

/* What the job still waits for, one after the other: behind NULL the first, NULL behind the last.
 */
struct dependency *dependency_behind(const struct job *job, const struct dependency *behind);

/* How many these are.  The time to end the job grows with it. */
static inline uint32_t dependencies_open(const struct job *job)
{
    return job->more && job->more->after ? job->more->after->open : 0;
}

/* Why a job fails whose `after_failed` is set.  It names that one only if every reader of the job
 * may know it, too; task.explain asks for the rights of its reader. */
void dependencies_say(const struct scheduler *s, const struct job *job, char *text, size_t size);

#endif
