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
