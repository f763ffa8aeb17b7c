/* The spans of jobs in sampled traces: the task, from its submission to its end; each of its waits
 * in the queue; and each of its attempts.
 *
 *     caller's span
 *       task METHOD          from submit to its end
 *         wait METHOD        in the queue, before an attempt
 *         process METHOD     an attempt; what its handler calls, and its worker does, is below it
 *
 * The ids of the first and the last are derived from the trace, the id of the job and the number of
 * the attempt: so they are the same in each life of the server, and nothing of them is kept.
 *
 * Thread: the jobs'.  Of a job without a trace each of these is a look or two. */
#ifndef ERGON_JOBS_SPANS_H
#define ERGON_JOBS_SPANS_H

#include "server/jobs/sched/scheduler.h"
#include "server/tasks/job_source.h"

/* Does a job of this spec, which is to have this id, begin a trace?  Then *out is the spec with
 * it. */
bool spans_begin(struct scheduler *s, const struct job_spec *spec, uint64_t id,
                 struct job_spec *out);

/* What the next attempt passes on: its own span, or, if none is traced, what the job was submitted
 * with.  NULL: nothing.  It is valid until the next call of this for the job. */
const struct trace_link *spans_link(const struct scheduler *s, struct job *job);

/* What the attempt `job->attempt` was given by spans_link(), for what it submits.  False: nothing.
 */
bool spans_passed(const struct scheduler *s, const struct job *job, struct trace_link *out);

/* The attempt `job->attempt` has begun: it waits no more. */
void spans_began(struct scheduler *s, struct job *job);

/* An attempt returned that had begun, whether or not it still counted. */
void spans_returned(struct scheduler *s, struct job *job, const struct attempt_end *r);

/* The server that ran the attempt `job->attempt` ended under it: constant or the caller's text. */
void spans_interrupted(struct scheduler *s, struct job *job, const char *text);

/* The job has ended, and everybody sees that. */
void spans_ended(struct scheduler *s, struct job *job);

#endif
