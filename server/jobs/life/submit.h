/* A job spec becomes a job, or finds the one that it names.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SUBMIT_H
#define ERGON_JOBS_SUBMIT_H

#include "proto/errors.h"
#include "server/jobs/jobs_parts.h"

struct submitted {
    struct job *job;
    bool duplicate, coalesced;
};

/* ERGON_OK: `out` is filled.  Else a text says what is wrong and what to do, and nothing has
 * changed: DRAINING (the server stops, or the queue is drained), NO_METHOD, TOO_LARGE, BUSY, STORE
 * (nothing can be durable now), NOT_FOUND and BAD_PARAMS (of `after`), MEMORY.  A durable job is on
 * disk when it gets EFFECT_SAVED. */
enum ergon_error job_submit(struct jobs *jobs, const struct job_spec *spec, struct submitted *out,
                            char *text, size_t size);

/* The first row of an fsync job was not taken, and its submitters have been told: it is as if it
 * had never been. */
void job_take_back(struct jobs *jobs, struct job *job);

#endif
