/* Results that flow: {"$result": ID} anywhere in the parameters of a task is replaced by the result
 * of that task as its attempts begin.
 *
 * The task comes after each that it so names, by `after`.  Those are not forgotten while it is
 * open, whatever their `keep` says and however scarce the room is.  The job keeps its parameters as
 * they were submitted, which are shown and stored; what an attempt gets is there while it is out.
 *
 * Thread: the jobs'.  Nothing here blocks.  A walk through parameters is bounded by REFS_LOOK. */
#ifndef ERGON_JOBS_RESULT_REFS_H
#define ERGON_JOBS_RESULT_REFS_H

#include <string.h>

#include "server/jobs/sched/dependencies.h"

enum {
    REFS_MOST = 1024,    /* in parameters */
    REFS_LOOK = 1 << 16, /* values in parameters that name results */
    REFS_DEPTH = 100     /* levels of what an attempt gets: peers take 128 in a message */
};

/* Can parameters name results?  Most have no dollar at all. */
static inline bool result_refs_can_be_in(struct span params)
{
    enum { LEAST = sizeof "$result" };
    return params.len > LEAST && memchr(params.at, '$', params.len);
}

/* Do they? */
bool result_refs_are_in(struct span params);

/* May the spec's parameters name the results that they do?  ERGON_OK; or a text, and BAD_PARAMS:
 * one is no id, or is not among `after`; TOO_LARGE: they name too many, or there are too many
 * values to look through. */
enum ergon_error result_refs_check(const struct job_spec *spec, char *text, size_t size);

/* The parameters of the new job, which were checked or are those of a row, name results, if they
 * do: job_names_results() is so from now on.  False without memory. */
bool result_refs_find(struct scheduler *s, struct job *job);

/* The job is open: it holds the tasks whose results it names; of another job a no-op.  ERGON_OK; or
 * a text, and DENIED: the submitter may not read one of these results; BAD_PARAMS: the job is
 * durable, and one of them is in memory only; or MEMORY, without one.  Then it holds nothing. */
enum ergon_error result_refs_hold(struct scheduler *s, struct job *job,
                                  const struct dependent *rights, char *text, size_t size);
/* It has ended: it holds nothing any more. */
void result_refs_let_go(struct scheduler *s, struct job *job);
/* May it become durable?  Else BAD_PARAMS and a text. */
enum ergon_error result_refs_check_durable(const struct scheduler *s, const struct job *job,
                                           char *text, size_t size);

/* Makes what an attempt of the job gets, unless that is there.  ERGON_OK; or MEMORY: later; or, for
 * good, and a text: NOT_FOUND, a result is not known any more; AFTER, there is none; TOO_LARGE, one
 * was too large to keep, or all together are larger than a message may be; TOO_DEEP. */
enum ergon_error result_refs_fill(struct scheduler *s, struct job *job, char *text, size_t size);
/* An attempt has returned: where no other is out, that is freed. */
void result_refs_unfill(struct scheduler *s, struct job *job);

/* Must result_refs_fill() come before an attempt? */
static inline bool job_names_results(const struct job *job)
{
    return job->more && job->more->names_results;
}

/* The parameters that an attempt gets. */
static inline struct span result_refs_params(const struct job *job)
{
    return job_names_results(job) ? blob_bytes(job->more->filled) : job_params(job);
}

#endif
