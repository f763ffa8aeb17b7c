/* Permits of limits and tokens of rates: what jobs take before they begin, and give back.  A job
 * that may go on because another gave something back is put into the scheduler's `granted`.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_ADMISSION_H
#define ERGON_JOBS_ADMISSION_H

#include "server/jobs/sched/scheduler.h"

/* Gives the job the limit and the rate that its spec names.  False without memory: the job is to
 * be given up, by scheduler_forget(). */
bool admission_join(struct scheduler *s, struct job *job, const struct job_spec *spec);
void admission_leave(struct scheduler *s, struct job *job); /* before it is freed */
/* The job can be queued.  If it was submitted before its method had a pool, it moves to the line of
 * that pool.  Without memory it stays in its line. */
void admission_settle(struct scheduler *s, struct job *job);

/* No executor takes jobs of this pool any more, or one does again: meanwhile what its jobs were
 * called for is not kept from holds. */
void admission_set_idle(struct scheduler *s, uint32_t pool, bool idle);
/* The same, for as long as the pool rests (pool_rest.h). */
void admission_set_rests(struct scheduler *s, uint32_t pool, bool rests);

/* The job goes to the queue for a new attempt: its wait is counted from now on. */
void admission_arrive(struct scheduler *s, struct job *job);

/* Takes permit and token for a job that is about to start.  False: it has neither, and its state is
 * WAITING, in its line. */
bool admission_take(struct scheduler *s, struct job *job);

/* Its handler began at this time, which is not long ago: its token is used, as of then. */
void admission_start(struct scheduler *s, struct job *job, ao_time at);
void admission_release_permit(struct scheduler *s, struct job *job); /* its attempt is over */
/* The job does not start, or waits for something else: it gives back permit, token and call, and
 * leaves its line. */
void admission_release(struct scheduler *s, struct job *job);
/* Its priority has changed: if it waits in a line, its place there changes, and others may go on.
 */
void admission_reorder(struct scheduler *s, struct job *job);
/* The permits that an orphan of the job has had; the job may have got others meanwhile. */
void admission_release_orphan(struct scheduler *s, struct job *job);

/* Calls the claims that may go on now: permits of this limit were given back, a claim came to its
 * lines or left them, or its size has changed. */
void admission_call(struct scheduler *s, struct limit *limit);

/* --- For persist/rates.c --- */

/* A rate that the file knows, made without a job; NULL without memory. */
struct rate *admission_rate(struct scheduler *s, struct tenant *tenant, struct span key,
                            struct start_rate of);
/* Its starts have changed: so may have what it counts for. */
void admission_weigh(struct scheduler *s, struct rate *r);
/* Lists the rate for the file. */
void admission_note(struct scheduler *s, struct rate *r);
/* The rate was written or read back: jobs that wait may go on; or the rate goes, if no job needs it
 * any more. */
void admission_noted(struct scheduler *s, struct rate *r);
/* Is it needed no more: has it no job, no start that counts, and no write on its way? */
bool rate_is_past(const struct rate *r);

/* All jobs have left: rates whose last starts are still counted go. */
void admission_fini(struct scheduler *s);

#endif
