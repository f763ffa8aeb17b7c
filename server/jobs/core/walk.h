/* Somebody goes through all jobs in small steps, while they come and go.
 *
 * Thread: the jobs'.  Nothing here fails. */
#ifndef ERGON_JOBS_WALK_H
#define ERGON_JOBS_WALK_H

#include "server/jobs/core/job.h"

/* The caller's, until walk_end(). */
struct job_walk {
    struct job_walk *next; /* all that are under way */
    struct job *at;        /* the next; NULL: there is none */
    bool down;             /* newest first */
};

/* Begins a walk by id; `walks`: the table's list. */
void walk_begin(struct job_walk **walks, struct job_walk *walk, struct job *first, bool down);
/* The next job; NULL: there is none.  Those that came after the beginning are met only upwards. */
struct job *walk_next(struct job_walk *walk);
void walk_end(struct job_walk **walks, struct job_walk *walk);
/* The job is about to leave the list of all. */
void walk_leave(struct job_walk *walks, const struct job *job);

#endif
