/* Members: jobs that belong to a batch (server/jobs/batches/), and what the other rooms of the jobs
 * call where such a job comes or changes.  The rooms know nothing of batches.
 *
 * A member has the id of its batch at the end of its body.  Thread: the jobs'.  Nothing here
 * blocks. */
#ifndef ERGON_JOBS_MEMBER_H
#define ERGON_JOBS_MEMBER_H

#include <string.h>

#include "proto/errors.h"
#include "server/jobs/core/job.h"

/* The id of its batch, which may be forgotten; 0: it is a member of none. */
static inline uint64_t job_batch(const struct job *job)
{
    uint64_t id = 0;
    if (job->in_batch)
        memcpy(&id, job->body + job->body_len - sizeof id, sizeof id);
    return id;
}

/* Its body has the room. */
static inline void job_set_batch(struct job *job, uint64_t id)
{
    memcpy(job->body + job->body_len - sizeof id, &id, sizeof id);
    job->in_batch = 1;
}

struct member_hooks {
    void *arg; /* first of each */
    /* May a job of this spec, which names a batch, be a member of that?  Else NOT_FOUND or
     * BAD_PARAMS, and a text. */
    enum ergon_error (*admits)(void *arg, const struct job_spec *spec, char *text, size_t size);
    void (*joined)(void *arg, const struct job *job);     /* it was made */
    void (*taken_back)(void *arg, const struct job *job); /* as if it had never been made */
    void (*reopened)(void *arg, const struct job *job); /* it has ended so, and is run once more */
    /* The id of the batch that submitted the job, as its first member failed or at its end; 0:
     * none that is kept. */
    uint64_t (*called_by)(void *arg, const struct job *job);
    /* It was read back, in this state. */
    void (*recovered)(void *arg, const struct job *job, enum job_state state);
};

#endif
