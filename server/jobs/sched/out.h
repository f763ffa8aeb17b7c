/* Attempts that are out: given to an executor, and not returned.
 *
 *     assigned --- its handler has begun ---> running ---> returned
 *        |                                       |
 *        +-- out_recall(): it never begins       +-- out_disown(): it counts no more (an orphan)
 *
 * What counts, counts from the begin: the number of the attempt, its start in the history, its
 * timeout, the token of its bucket.  No message comes of a begin, since for most attempts that
 * would cost more than the attempt; the jobs look for it: when the attempt returns or says
 * something, when a client asks, and otherwise after a while (`until`).
 *
 * Thread: the jobs'.  Nothing here blocks or fails. */
#ifndef ERGON_JOBS_OUT_H
#define ERGON_JOBS_OUT_H

#include "server/jobs/sched/scheduler.h"
#include "server/tasks/job_source.h"

static inline bool out_is_assigned(const struct scheduler *s, const struct job *job)
{
    const struct pool_jobs *pool = job->list ? pool_table_of(&s->pools, job) : NULL;
    return pool && job->list == &pool->assigned;
}

/* The first that is assigned of a pool, by the pool's index; NULL: none is. */
static inline struct job *out_first_assigned(const struct scheduler *s, uint32_t pool)
{
    const struct pool_jobs *jobs = pool_table_find(&s->pools, pool);
    return jobs ? jobs->assigned.first : NULL;
}

/* Picked: its next attempt is about to be given. */
void out_add(struct scheduler *s, struct job *job);
/* Its attempt was not given, or has not begun and never will: the job leaves its list, and gives
 * back all that it took to run.  `mark`: of the attempt; NULL. */
void out_undo(struct scheduler *s, struct job *job, const struct attempt_mark *mark);

/* The handler of an assigned job has begun, at this time of the activators' clock. */
void out_began(struct scheduler *s, struct job *job, ao_time at);
/* Has it?  Then it is running from now on. */
bool out_has_begun(struct scheduler *s, struct job *job);
/* Its state becomes what its executor says of its attempt; of a job with none out a no-op. */
void out_show(struct scheduler *s, struct job *job);
void out_show_all(struct scheduler *s);

/* Takes an attempt back that has not begun: then as out_undo(), and true.  False: there is none, or
 * it has begun, and is running from now on. */
bool out_recall(struct scheduler *s, struct job *job);
/* Has an attempt of it begun, and not returned?  One that has not begun is taken back.  When the
 * server ends, that is so of jobs that are queued, too: their attempts never return. */
bool out_holds(struct scheduler *s, struct job *job);
/* Takes back this one, if it has not begun; all; those of a queue that was paused; or those of a
 * pool that somebody in its queue goes before, where no executor has room.  They are granted, so
 * that scheduler_admit() sends them where they belong. */
void out_requeue(struct scheduler *s, struct job *job);
void out_recall_all(struct scheduler *s);
void out_recall_queue(struct scheduler *s, const struct job_queue *queue);
void out_overtake(struct scheduler *s, const struct pool_jobs *pool);

/* The attempt that is out does not count any more: it is flagged, and its return is awaited.  It
 * keeps permit and place until then. */
void out_disown(struct scheduler *s, struct job *job, enum attempt_flag flag);

#endif
