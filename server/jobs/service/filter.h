/* Which jobs a filter means.  Thread: the jobs'. */
#ifndef ERGON_JOBS_FILTER_H
#define ERGON_JOBS_FILTER_H

#include "server/jobs/service/operation.h"

/* Is it the name that is wanted?  An empty one stands for all. */
static inline bool filter_fits_name(struct span wanted, struct span name)
{
    return wanted.len == 0 || span_equal(wanted, name);
}

/* Does the filter mean the job, and may the operation know of it?  `now`: Unix ns. */
bool filter_fits(struct jobs *jobs, const struct operation *op, const struct task_filter *filter,
                 struct job *job, uint64_t now);

#endif
