#include "server/jobs/service/filter.h"

#include "server/jobs/jobs_parts.h"
#include "server/jobs/service/view.h"

static bool fits_names(const struct task_filter *f, const struct job *job)
{
    struct span key = job->more ? job->more->key.name : (struct span){0};
    return filter_fits_name(f->method, job->queue->name) &&
           filter_fits_name(f->tenant, job->tenant->name) && filter_fits_name(f->key, key);
}

bool filter_fits(struct jobs *jobs, const struct operation *op, const struct task_filter *filter,
                 struct job *job, uint64_t now)
{
    uint64_t age = now > job->created ? now - job->created : 0;
    if ((filter->older > 0 && age < filter->older) || (filter->newer > 0 && age > filter->newer) ||
        !operation_may_know(op, job) || !fits_names(filter, job))
        return false;
    if (filter->state < 0)
        return true;
    view_stage(jobs, job);
    return filter->state == job->state;
}
