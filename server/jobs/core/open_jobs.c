#include "server/jobs/core/open_jobs.h"

#include <assert.h>

static void show_oldest(struct open_jobs *open)
{
    counter_set(&open->oldest, open->first ? open->first->created : 0);
}

static bool is_open_of(const struct job *job, const struct job_queue *queue)
{
    return job->queue == queue && job_state_open((enum job_state)job->state);
}

/* The one behind which the job belongs; NULL: it is the first.  Not all are before it. */
__attribute__((noinline)) static struct job *find_before(const struct open_jobs *open,
                                                         const struct job *job)
{
    struct job *down = job->all_prev, *up = job->all_next, *first = open->first, *last = open->last;
    for (;;) {
        if (!down || is_open_of(down, job->queue))
            return down;
        if (!up || is_open_of(up, job->queue))
            return up ? up->open_prev : open->last;
        if (first->id > job->id)
            return first->open_prev;
        if (last->id < job->id)
            return last;
        down = down->all_prev;
        up = up->all_next;
        first = first->open_next;
        last = last->open_prev;
    }
}

void open_jobs_add(struct open_jobs *open, struct job *job)
{
    struct job *before =
        !open->last || open->last->id < job->id ? open->last : find_before(open, job);
    struct job *next = before ? before->open_next : open->first;
    assert(!job->open_prev && !job->open_next && open->first != job);
    assert((!before || before->id < job->id) && (!next || job->id < next->id));
    job->open_prev = before;
    job->open_next = next;
    *(next ? &next->open_prev : &open->last) = job;
    if (before) {
        before->open_next = job;
        return;
    }
    open->first = job;
    show_oldest(open);
}

void open_jobs_remove(struct open_jobs *open, struct job *job)
{
    assert(job->open_prev ? job->open_prev->open_next == job : open->first == job);
    *(job->open_next ? &job->open_next->open_prev : &open->last) = job->open_prev;
    if (job->open_prev) {
        job->open_prev->open_next = job->open_next;
    } else {
        open->first = job->open_next;
        show_oldest(open);
    }
    job->open_prev = job->open_next = NULL;
}
