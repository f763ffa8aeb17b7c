/* All jobs are gone through in small steps, while they come, change and go: a million at once would
 * hold up everything else for half a second.
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

/* --- A count of all ---
 *
 * It stays true while jobs change: what changes behind the walk is counted anew, what changes
 * before it the walk finds. */

struct job_census {
    uint64_t open[2]; /* of jobs in memory, of durable ones */
    uint64_t states[JOB_STATE_COUNT];
    /* Called for each member of a batch likewise; NULL: for none. */
    void (*member)(void *arg, const struct job *job, uint64_t one);
    void *member_arg;
    struct job *at; /* the next to be counted; NULL: all are */
    uint64_t upto;  /* id: the jobs up to here are counted */
};

/* `first`: the first of all jobs, which are linked by `all_next`; NULL: there is none. */
void job_census_begin(struct job_census *census, struct job *first);
/* Counts so many more.  True: all are counted. */
bool job_census_walk(struct job_census *census, uint32_t jobs);

/* Around each change of a job's state or durability, and before the job is freed.  `census` may be
 * NULL: none is under way. */
void job_census_add(struct job_census *census, const struct job *job, uint64_t one);
static inline void job_census_changing(struct job_census *census, const struct job *job)
{
    if (census)
        job_census_add(census, job, (uint64_t)-1);
}
static inline void job_census_changed(struct job_census *census, const struct job *job)
{
    if (census)
        job_census_add(census, job, 1);
}
void job_census_freed(struct job_census *census, const struct job *job);

#endif
