#include "server/jobs/core/walk.h"

void walk_begin(struct job_walk **walks, struct job_walk *walk, struct job *first, bool down)
{
    *walk = (struct job_walk){.next = *walks, .at = first, .down = down};
    *walks = walk;
}

struct job *walk_next(struct job_walk *walk)
{
    struct job *job = walk->at;
    if (job)
        walk->at = walk->down ? job->all_prev : job->all_next;
    return job;
}

void walk_end(struct job_walk **walks, struct job_walk *walk)
{
    struct job_walk **link = walks;
    while (*link != walk)
        link = &(*link)->next;
    *link = walk->next;
}

void walk_leave(struct job_walk *walks, const struct job *job)
{
    for (; walks; walks = walks->next)
        if (walks->at == job)
            walk_next(walks);
}

/* --- A count of all --- */

/* Behind the last one are those that come now. */
static void go_to(struct job_census *census, struct job *next)
{
    census->at = next;
    if (!next)
        census->upto = UINT64_MAX;
}

void job_census_add(struct job_census *census, const struct job *job, uint64_t one)
{
    if (job->id > census->upto || job->state == JOB_NEW)
        return;
    census->states[job->state] += one;
    if (job_state_open((enum job_state)job->state))
        census->open[job->durable != DURABLE_NONE] += one;
    if (job->in_batch && census->member)
        census->member(census->member_arg, job, one);
}

void job_census_begin(struct job_census *census, struct job *first)
{
    *census = (struct job_census){0};
    go_to(census, first);
}

bool job_census_walk(struct job_census *census, uint32_t jobs)
{
    for (; census->at && jobs > 0; jobs--) {
        census->upto = census->at->id;
        job_census_add(census, census->at, 1);
        go_to(census, census->at->all_next);
    }
    return !census->at;
}

void job_census_freed(struct job_census *census, const struct job *job)
{
    job_census_changing(census, job);
    if (census && census->at == job)
        go_to(census, job->all_next);
}
