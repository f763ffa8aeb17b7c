/* The parts that explanations of tasks and of queues share.  Thread: the jobs'. */
#ifndef ERGON_JOBS_EXPLAIN_H
#define ERGON_JOBS_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/pack.h"
#include "server/jobs/core/states.h"

struct job;
struct job_queue;
struct jobs;
struct operation;
struct tenant;

enum { EXPLAIN_TEXT_MAX = 400 /* bytes of a sentence */ };

/* The client that an explanation is for. */
struct viewer {
    const struct operation *op;  /* jobs that its caller may not know of are left out */
    const struct tenant *tenant; /* jobs of other tenants are left out, too; NULL: none is */
};

/* Packs one pair of a map: the executors that run the jobs of the queue, and what they do.  It
 * shows at most 64 workers, each with some of its jobs, as far as the viewer may know of them. */
void explain_executors(struct jobs *jobs, const struct job_queue *q, const struct viewer *viewer,
                       struct pack *p);

/* Why the job is where it is, with a sentence that says so; of a job that the caller may not know
 * of, the meaning of the reason alone. */
enum job_reason explain_job(struct jobs *jobs, const struct operation *op, struct job *job,
                            char *text, size_t size);

/* Writes that the workers of the queue keep dying.  False: its pool does not rest, and nothing is
 * written. */
bool explain_rest(const struct jobs *jobs, const struct job_queue *q, char *text, size_t size);
void explain_no_executor(const struct jobs *jobs, const struct job_queue *q, char *text,
                         size_t size);

#endif
