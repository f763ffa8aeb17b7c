/* Submits jobs in batches of 64, as a loop does, so many batches at a time; and what such a
 * benchmark has beside that.
 *
 * Thread: that of the loop. */
#ifndef ERGON_BENCH_JOBS_SUBMITTER_H
#define ERGON_BENCH_JOBS_SUBMITTER_H

#include "server/jobs/jobs.h"
#include "server/jobs/operations/channel.h"
#include "server/tasks/tasks.h"

enum { BATCH = 64, PARAMS = 64 };

struct submitter {
    /* Set by the benchmark. */
    uint64_t of;          /* jobs to submit */
    uint64_t batches_max; /* in flight */
    /* Fills in job number `made`; `params` are PARAMS zero bytes that live as long as the job's
     * spec. */
    void (*fill)(struct submitter *s, struct job_spec *spec, uint8_t *params);

    struct ao ao;
    struct jobs_channel *channel; /* owned by the jobs */
    struct activator *loop;       /* which is stopped when all are submitted */
    uint64_t made, in_flight, refused;
};

/* Begins with the next round of the loop.  False: out of memory. */
bool submitter_start(struct submitter *s, struct jobs *jobs, struct activator *loop);
void submitter_end(struct submitter *s);

double resident_bytes(void); /* of this process */

/* For plans of tasks: nothing is called here. */
void no_call_ended(void *arg, struct call *call, struct outcome *outcome);

#endif
