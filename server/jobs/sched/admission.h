/* Permits of limits and tokens of rates: what jobs take before they begin, and give back.  Whoever
 * may go on because another gave something back is put into the scheduler's `granted`.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_ADMISSION_H
#define ERGON_JOBS_ADMISSION_H

#include "server/jobs/sched/scheduler.h"

/* Gives the job the limit and the rate that its spec names.  False without memory: the job is to
 * be given up, by scheduler_forget(). */
bool admission_join(struct scheduler *s, struct job *job, const struct job_spec *spec);
void admission_leave(struct scheduler *s, struct job *job); /* before it is freed */
/* It can be queued: one that came before its method had a pool stands with those of that from now
 * on.  Without memory it stands where it did. */
void admission_settle(struct scheduler *s, struct job *job);

/* Nobody takes jobs of this pool any more, or somebody does again: what its jobs were called for is
 * not kept from holds meanwhile. */
void admission_set_idle(struct scheduler *s, uint32_t pool, bool idle);
/* The same, for as long as the pool rests (pool_rest.h). */
void admission_set_rests(struct scheduler *s, uint32_t pool, bool rests);

/* It goes to the queue for a new attempt: from now on counts how long it waits. */
void admission_arrive(struct scheduler *s, struct job *job);

/* Takes permit and token for a job that is about to start.  False: it has neither, and its state is
 * WAITING, in its line. */
bool admission_take(struct scheduler *s, struct job *job);

/* Its handler began at this time, which is not long ago: its token is used, as of then. */
void admission_start(struct scheduler *s, struct job *job, ao_time at);
void admission_release_permit(struct scheduler *s, struct job *job); /* its attempt is over */
/* It does not start, or waits for something else: permit, token and call go back, and it leaves its
 * line. */
void admission_release(struct scheduler *s, struct job *job);
/* Its priority is another: where it waits in a line, it and others may stand elsewhere now. */
void admission_reorder(struct scheduler *s, struct job *job);
/* The permits that an orphan of the job has had; the job may have got others meanwhile. */
void admission_release_orphan(struct scheduler *s, struct job *job);

/* Somebody has given permits of this limit back, come to its lines or left them, or it has another
 * size: whoever may go on is called. */
void admission_call(struct scheduler *s, struct limit *limit);

/* --- For persist/rates.c --- */

/* A rate that the file knows, made without a job; NULL without memory. */
struct rate *admission_rate(struct scheduler *s, struct tenant *tenant, struct span key,
                            struct start_rate of);
/* Its starts have changed: so may have what it counts for. */
void admission_weigh(struct scheduler *s, struct rate *r);
/* The file is to be told of it. */
void admission_note(struct scheduler *s, struct rate *r);
/* It was told, or what it knows was read back: who waits may go on; or the rate goes, if nobody
 * needs it any more. */
void admission_noted(struct scheduler *s, struct rate *r);
/* Nobody needs it any more: it has no job, and no start that counts. */
bool rate_is_past(const struct rate *r);

/* All jobs have left: rates whose last starts are still counted go. */
void admission_fini(struct scheduler *s);

#endif
