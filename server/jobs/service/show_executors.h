/* Packs the executors that run the jobs of a queue, for explanations.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SHOW_EXECUTORS_H
#define ERGON_JOBS_SHOW_EXECUTORS_H

#include "proto/pack.h"

struct job_queue;
struct jobs;
struct operation;
struct tenant;

/* The client that an explanation is for. */
struct beholder {
    const struct operation *op;  /* jobs that its caller may not know of are left out */
    const struct tenant *tenant; /* jobs of other tenants are left out, too; NULL: none is */
};

/* Packs one pair of a map: the executors and what they do.  It shows at most 64 workers, each with
 * some of its jobs, as far as the beholder may know of them. */
void show_executors(struct jobs *jobs, const struct job_queue *q, const struct beholder *who,
                    struct pack *p);

#endif
