/* What happens in the lines of limits and rates (limits.h): claims take permits and tokens, wait,
 * are called, and give back.
 *
 * A limit has one order for jobs and holds: by priority, which rises with the time, then by
 * arrival.  The first of a line goes when all that it wants is free.  Until then no claim behind it
 * goes, with one exception: a job that wants one permit lets those of other lines by, since it may
 * wait for an executor of its pool.  A claim that wants more than there is goes when all is
 * free.
 *
 * A job that is called takes permit and token when it is picked; a hold has its permits as it is
 * called.  So a hold is called only when what is called and has not been picked yet leaves enough
 * for it; but nothing is kept for jobs that no executor takes now, since their pool has no worker.
 *
 * Thread: the jobs'.  Pure: the time is passed in. */
#ifndef ERGON_JOBS_LINES_H
#define ERGON_JOBS_LINES_H

#include "server/jobs/sched/limits.h"

/* The orders of the heaps: of the claims of a line, and of the lines of a side. */
bool claim_goes_before(const struct pairing_node *a, const struct pairing_node *b);
bool line_goes_before(const struct pairing_node *a, const struct pairing_node *b);
struct line *line_of_place(const struct pairing_node *place);

/* True: the job has a permit and a token, as far as its line asks for them (JOB_HAS_PERMIT,
 * JOB_HAS_TOKEN).  False: it waits in its line, at the gate that is closed. */
bool line_take(struct job *job, ao_time now);
/* Puts the claim of a hold into its line, at the gate of its limit, until it is called. */
void line_wait(struct claim *c);
/* The claim of a hold that was called is settled: its permits are its own. */
void line_settle(struct claim *c);
/* Out of the line, or its call is taken back, and what a hold was called for with it: it goes
 * somewhere else. */
void line_leave(struct claim *c);

/* What it has of its line, if anything: the permits; the token, unused, or used by a start at this
 * time; of starts that are learned of in another order than they had the later counts. */
void limit_give(struct job *job);
/* One of its attempts was given up, or such a one has returned. */
void limit_note_late(struct job *job);
void rate_give(struct job *job);
void rate_use(struct job *job, ao_time at);
/* So many permits of a hold: that it has from the file, and that it gives back. */
void limit_add(struct limit *limit, uint32_t permits);
void limit_put_back(struct limit *limit, uint32_t permits);

/* The line at this gate whose first claim is to be called; NULL: the gate is closed, or no claim
 * waits there. */
struct line *gate_next(struct gate *g, ao_time now);
/* Calls the first claim of a line that gate_next() found; a hold has its permits then.  NULL: the
 * line moved to its other gate. */
struct claim *line_call(struct line *line, ao_time now);
bool gate_has_lines(const struct gate *g);

/* How many starts more are to be promised to the file before the jobs that wait may begin; 0:
 * none. */
uint32_t rate_wants(struct rate *r, ao_time now);

/* The priority of the job has changed (admission_reorder()): if it waits in a line, it takes the
 * place of its new priority.  For any other job a no-op. */
void limits_reorder(struct job *job);

/* The job of a claim of kind CLAIM_OF_JOB. */
static inline struct job *claim_job(const struct claim *c)
{
    return ao_of((struct claim *)(uintptr_t)c, struct job_more, claim)->key.job;
}

#endif
