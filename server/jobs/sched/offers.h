/* Methods that workers offer, and stop to offer.
 *
 * Jobs of a method for which no worker is there stay in the queue of its pool, in their order;
 * those of a method that has no pool at all wait in `held`.
 *
 * Thread: the jobs'.  Nothing here blocks or fails; without memory a method whose jobs were never
 * heard of is not remembered. */
#ifndef ERGON_JOBS_OFFERS_H
#define ERGON_JOBS_OFFERS_H

#include "server/jobs/core/names.h"
#include "server/jobs/sched/scheduler.h"

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

#endif
