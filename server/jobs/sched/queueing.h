/* Into the queue, out of wherever a job waits, and its end.  Thread: the jobs'.  Nothing here
 * fails. */
#ifndef ERGON_JOBS_QUEUEING_H
#define ERGON_JOBS_QUEUEING_H

#include "server/jobs/core/names.h"
#include "server/jobs/sched/scheduler.h"

/* Methods that workers offer, and stop to offer.
 *
 * Jobs of a method for which no worker is there stand in the queue of its pool, in their order, and
 * nobody takes them; those of a method that has no pool at all wait in `held`.
 *
 * Thread: the jobs'.  Nothing here blocks or fails; without memory a method whose jobs were never
 * heard of is not remembered. */

/* As struct job_source says it.  The queue of the method, so that it is remembered; NULL without
 * memory. */
struct job_queue *offers_changed(struct scheduler *s, struct method *m, bool workers,
                                 struct span who);

/* Workers offer its method, or did so before, in this life of the server or in one that the file
 * tells of: its jobs are taken though nobody may run them now. */
static inline bool queue_was_offered(const struct job_queue *q)
{
    return q->offer.at > 0;
}

/* --- Quarantine --- */

/* Suspects: jobs that the next crash of the server would make dead.
 *
 * Whatever ran at a crash may have caused it.  So that the one that did dies alone, and takes no
 * neighbours along, at most one suspect of the whole server is out at a time; what is no suspect
 * runs beside it.  A suspect has the place from its pick until its attempt has really returned,
 * also when that outlived its timeout; then the next one gets it, in order of arrival.
 *
 * Thread: the jobs'.  Nothing here blocks or fails. */

/* Takes the place for a job that is about to start.  True: it has it, or needs none.  False: the
 * job waits for it, and has given back permit and token. */
bool quarantine_take(struct scheduler *s, struct job *job);

/* The job does not start, or its attempt is over; of a job without the place a no-op.  While an
 * orphan of it is out, that one keeps the place, until quarantine_returned() says that it is back.
 */
void quarantine_leave(struct scheduler *s, struct job *job);
void quarantine_returned(struct scheduler *s, const struct job *job);

/* Grants the place to who waits first, if it is free. */
void quarantine_grant(struct scheduler *s);

/* --- Queueing --- */

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
