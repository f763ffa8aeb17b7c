/* The open jobs of one queue in the order of their ids, which is that of their submission.  So the
 * oldest is known at any time, however many jobs of other queues, or that have ended, are older.
 *
 * A job joins at the end when it is placed for the first time, and leaves when it ends: some thirty
 * instructions in its life.  The links take no memory that a job had not before: it reaches its
 * table by its queue, and the two times of its fair queue and of its attempt are one.
 *
 * One that has ended and is tried again goes back to its place.  That is looked for from both ends
 * of the list, and on both sides of the job among all jobs, at once: so it is near where few jobs
 * of the queue are open, where most are, and where its neighbour was tried again just before, as by
 * a filter.  The worst is one in the middle of n jobs that have ended, with n open ones on each
 * side: n looks for each.
 *
 * Thread: the jobs', but that any may read `oldest`.  Nothing here blocks or fails. */
#ifndef ERGON_JOBS_OPEN_JOBS_H
#define ERGON_JOBS_OPEN_JOBS_H

#include "base/counter.h"
#include "server/jobs/core/job.h"

/* Zeroed to begin with. */
struct open_jobs {
    struct job *first, *last; /* by open_next, open_prev */
    counter oldest;           /* when the first was submitted, Unix ns; 0: there is none */
};

/* Adds the job, which has come to an open state, and is in the list of all. */
void open_jobs_add(struct open_jobs *open, struct job *job);
/* Removes the job, which is in no open state any more, or is about to leave the list of all. */
void open_jobs_remove(struct open_jobs *open, struct job *job);

#endif
