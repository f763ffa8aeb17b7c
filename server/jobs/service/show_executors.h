/* The executors that run the jobs of a queue, as explanations show them.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SHOW_EXECUTORS_H
#define ERGON_JOBS_SHOW_EXECUTORS_H

#include "proto/pack.h"

struct job_queue;
struct jobs;
struct operation;
struct tenant;

/* To whom they are shown. */
struct beholder {
    const struct operation *op;  /* what it may know stands there */
    const struct tenant *tenant; /* and of that only jobs of this one; NULL: of any */
};

/* One pair of a map: what they do.  Of workers the first 64, each with some of the jobs that it
 * has, as far as the beholder may know of them. */
void show_executors(struct jobs *jobs, const struct job_queue *q, const struct beholder *who,
                    struct pack *p);

#endif
