/* Jobs that have ended: those that failed or are dead stand apart, since others are not to push
 * them out.  Thread: the jobs'. */
#ifndef ERGON_JOBS_ENDED_H
#define ERGON_JOBS_ENDED_H

#include "server/jobs/core/job.h"

enum ended_kind { ENDED_WELL, ENDED_BADLY, ENDED_KINDS };

struct ended {
    struct job_list jobs; /* in the order of their end */
    uint64_t bytes;
};

/* Where a job stands that has ended; NULL: in neither. */
static inline struct ended *ended_of(struct ended all[ENDED_KINDS], const struct job *job)
{
    for (unsigned kind = 0; kind < ENDED_KINDS; kind++)
        if (job->list == &all[kind].jobs)
            return &all[kind];
    return NULL;
}

#endif
