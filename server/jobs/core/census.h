/* A count of all jobs in small steps, which stays true while they change: what changes behind the
 * walk is counted anew, what changes before it the walk finds.  A million jobs at once would hold
 * up everything else for half a second.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_CENSUS_H
#define ERGON_JOBS_CENSUS_H

#include "server/jobs/core/job.h"

struct census {
    uint64_t open[2]; /* of jobs in memory, of durable ones */
    uint64_t states[JOB_STATE_COUNT];
    struct job *at; /* the next to be counted; NULL: all are */
    uint64_t upto;  /* id: the jobs up to here are counted */
};

/* `first`: the first of all jobs, which are linked by `all_next`; NULL: there is none. */
void census_begin(struct census *census, struct job *first);
/* Counts so many more.  True: all are counted. */
bool census_walk(struct census *census, uint32_t jobs);

/* Around each change of a job's state or durability, and before the job is freed.  `census` may be
 * NULL: none is under way. */
void census_add(struct census *census, const struct job *job, uint64_t one);
static inline void census_changing(struct census *census, const struct job *job)
{
    if (census)
        census_add(census, job, (uint64_t)-1);
}
static inline void census_changed(struct census *census, const struct job *job)
{
    if (census)
        census_add(census, job, 1);
}
void census_freed(struct census *census, const struct job *job);

#endif
