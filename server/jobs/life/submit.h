/* A job spec becomes a job, or finds the one that it names.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SUBMIT_H
#define ERGON_JOBS_SUBMIT_H

#include "proto/errors.h"
#include "server/jobs/sched/dependencies.h"

struct jobs;

struct submitted {
    struct job *job;
    bool duplicate, coalesced; /* it was there already */
    /* It was, and is less durable than the spec wants, or is fsync and the spec changes it.  It is
     * being written anew, and gets EFFECT_SAVED: then job_joined() follows; or, with an error, it
     * stays as it was, and a submission that coalesced leaves it again by job_cancel(). */
    bool hardens;
    /* It changed numbers of a limit or a rate that fsync jobs use, too: these are on disk when all
     * is that was pushed to the store. */
    bool numbers;
};

/* The rights of the submitter: which jobs of others it may join, and wait for.  A submitter that
 * joins a job by a key reads its result, whichever method gave it. */
struct submitter {
    bool (*may_join)(const void *arg, const struct job *job);
    struct dependent waits; /* for which jobs it may have its own wait */
    const void *arg;
};

/* `rights` NULL: the server itself submits, and may join any job, and wait for any.
 * ERGON_OK: `out` is filled; the spec's spans were copied, or its message is a new job's.  A
 * durable job is on disk when it gets EFFECT_SAVED.  Else no job was made, and a text says what is
 * wrong and what to do; but to make room, jobs that have ended may have been forgotten:
 *
 *   DRAINING    the server stops, and the spec is not `inner`; or the queue is drained
 *   DENIED      the spec's key is that of a job that the submitter may not join; or its parameters
 *               name a result that it may not read
 *   NO_METHOD   neither a module nor a worker has ever offered the method, as far as it is known,
 *               and none is expected to
 *   NO_EXECUTOR  no executor of the server runs its kind
 *   TOO_LARGE   the job is larger than all jobs may be together, or its parameters name results
 *               and have too many values (sched/result_refs.h)
 *   BUSY        there are as many jobs, or as many bytes of them, as there may be; or jobs of as
 *               many methods
 *   STOPPED     it is a call of an actor that is stopped
 *   STORE       the job is to be durable, and there is no store, or the store cannot write now
 *   NOT_FOUND   `after` names a job that is not there, or that the submitter may not see
 *   BAD_PARAMS  the method and the actor do not fit each other, or one of them is missing; the
 *               parameters name a result that `after` does not name; the job
 *               is durable, and `after` names an open one that is not; or so does that of
 *               the job that is there already
 *   MEMORY */
enum ergon_error job_submit(struct jobs *jobs, const struct job_spec *spec,
                            const struct submitter *rights, struct submitted *out, char *text,
                            size_t size);

/* Do the spec's method and its actor, or that it names none, fit each other?  Else BAD_PARAMS or
 * NO_METHOD, and a text. */
enum ergon_error job_check_actor(struct jobs *jobs, const struct job_spec *spec, char *text,
                                 size_t size);

/* The answer to a task that names no actor, of this method of actors. */
void submit_without_actor_text(const struct method *m, char *text, size_t size);

/* For tracepoints (base/tracepoint.h): this connection, or none (0), submitted the job. */
void job_trace_submit(const struct job *job, uint64_t conn);

/* The submission of this spec has joined a job, which is as durable as wanted now. */
void job_joined(struct job *job, const struct job_spec *spec);

/* What job_submit() made or joined in this step, before anything followed from it, is taken back: a
 * new job is as if it had never been; of a run that it joined it is one submission less.  `why` is
 * copied. */
void job_unsubmit(struct jobs *jobs, const struct submitted *done, const char *why);

/* The store did not take the first row of an fsync job, and its submitters have been answered: now
 * it is as if the job had never been.  `code`: the error that its callers get; `why` is copied. */
void job_take_back(struct jobs *jobs, struct job *job, const char *code, const char *why);

#endif
