#include "server/jobs/core/census.h"

/* Behind the last one are those that come now. */
static void go_to(struct census *census, struct job *next)
{
    census->at = next;
    if (!next)
        census->upto = UINT64_MAX;
}

void census_add(struct census *census, const struct job *job, uint64_t one)
{
    if (job->id > census->upto || job->state == JOB_NEW)
        return;
    census->states[job->state] += one;
    if (job_state_open((enum job_state)job->state))
        census->open[job->durable != DURABLE_NONE] += one;
}

void census_begin(struct census *census, struct job *first)
{
    *census = (struct census){0};
    go_to(census, first);
}

bool census_walk(struct census *census, uint32_t jobs)
{
    for (; census->at && jobs > 0; jobs--) {
        census->upto = census->at->id;
        census_add(census, census->at, 1);
        go_to(census, census->at->all_next);
    }
    return !census->at;
}

void census_freed(struct census *census, const struct job *job)
{
    census_changing(census, job);
    if (census && census->at == job)
        go_to(census, job->all_next);
}
