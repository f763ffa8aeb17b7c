/* Into the queue, out of wherever a job waits, and its end.  Thread: the jobs'.  Nothing here
 * fails. */
#ifndef ERGON_JOBS_QUEUEING_H
#define ERGON_JOBS_QUEUEING_H

#include "server/jobs/core/names.h"
#include "server/jobs/sched/scheduler.h"

/* Queues a job that can only be queued; or, if its queue is paused or its method has no executors,
 * makes it wait for that.  Ends nobody. */
void job_enqueue(struct scheduler *s, struct job *job, bool front);

/* Makes the job wait in `held` of its queue. */
void job_hold(struct scheduler *s, struct job *job, enum held_kind kind, enum job_reason reason);
/* Takes out the one that goes on first; NULL: there is none. */
struct job *queue_pop_held(struct job_queue *q);

/* Takes the job out of wherever it waits, and gives back what it has of its limit and rate; what it
 * comes after still counts. */
void job_unplace(struct scheduler *s, struct job *job);

/* Takes the job out of wherever it waits or runs, and gives back its permit and token.  An attempt
 * that is out never begins; or, where it has begun, is flagged, and does not count any more. */
void job_dequeue(struct scheduler *s, struct job *job);

/* --- The end of a job --- */

/* Ends an open job for good; of another a no-op.  `code` and `text` of an error are copied; NULL:
 * it has none.  The end of a durable job, or of one that job_writes_more(), is seen when
 * it is on disk: until then the job is open, with JOB_ENDING, and goes nowhere. */
void job_end(struct scheduler *s, struct job *job, enum job_state state, const char *code,
             const char *text);
/* Has it run in as many crashes of the server as a job may?  One that is to be cancelled does not
 * run again, but it is not to blame either. */
bool job_crashed_enough(const struct scheduler *s, const struct job *job);
/* Then it ends as DEAD. */
void job_end_crashed(struct scheduler *s, struct job *job);
/* With JOB_ENDING: it ends in this state instead, and without a result.  Its row is the caller's
 * affair. */
void job_end_otherwise(struct scheduler *s, struct job *job, enum job_state state, const char *code,
                       const char *text);
/* With JOB_ENDING: it has not ended, since what its last attempt did is undone; it waits for the
 * store, and its row is written.  The attempt costs no retry. */
void job_reopen(struct scheduler *s, struct job *job, const char *why);
/* The end of a durable job is on disk. */
void job_end_saved(struct scheduler *s, struct job *job);

/* Keeps the error of the last attempt, or of the whole; both texts are copied.  Without memory the
 * job shows the error that it had before, or none. */
void job_set_error(struct scheduler *s, struct job *job, const char *code, const char *text);

/* Where the end is kept; made when there is none yet, NULL without memory.  The caller weighs. */
struct job_result *job_result_of(struct job *job);

#endif
