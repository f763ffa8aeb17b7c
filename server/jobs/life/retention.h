/* What has ended is kept for its time, and while there is room; then it is forgotten.
 *
 * All together may take tasks.kept_bytes.  Beyond, the tenant that keeps the most (core/kept.h)
 * forgets its oldest.  So of n tenants none forgets early that keeps less than an n-th of that,
 * whatever the others do; but where all that one keeps is still referred to, the next has to give.
 *
 * Jobs that failed or are dead are kept apart from the others.  Of its two kinds a tenant forgets
 * the one that takes more, so that neither pushes the other out of its half.  Room for a new job is
 * made by those that did not fail, as long as that tenant has any.
 *
 * What open jobs may take ends before all that there is (retention_reserve()): so there is some
 * room to keep jobs in, however many are submitted.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_RETENTION_H
#define ERGON_JOBS_RETENTION_H

#include "proto/errors.h"
#include "server/jobs/sched/scheduler.h"

struct jobs;

/* The job has ended, and everybody may see that. */
void retention_add(struct scheduler *s, struct job *job);
/* The job is run again. */
void retention_remove(struct job_table *table, struct job *job);

/* Takes the job out of the table, with EFFECT_GONE; while something still refers to it, it is
 * looked at again later. */
void retention_forget(struct job_table *table, struct job *job);
/* May the job, which has ended, be forgotten now? */
bool retention_may_forget(const struct job *job);
/* Forgets the oldest that may be, to make room for a new job.  False: there is none. */
bool retention_evict(struct scheduler *s);
/* Bytes that open jobs leave to those that have ended, of all that there are. */
uint64_t retention_reserve(const struct scheduler *s, uint64_t bytes_max);
/* A small step towards the room that ended jobs may take, and to so many jobs and bytes in all.
 * True: nothing is left to do. */
bool retention_trim(struct scheduler *s, uint64_t tasks_max, uint64_t bytes_max);

/* --- Room --- */

/* Is there room for a new job?  All jobs together may be so many and take so many bytes.  What has
 * ended makes room for what is new, but for a reserve (retention.h); and of what is left to open
 * jobs a tenant may take so much as leaves some to others.  Thread: the jobs'. */

/* Forgets what it must of what has ended.  ERGON_OK: there is room for a job of this spec;
 * ERGON_E_BUSY, ERGON_E_TOO_LARGE and a text: there is none now, or never.  A tenant that is beyond
 * its share, and what is too large, cost no other job its place. */
enum ergon_error room_make(struct jobs *jobs, const struct job_spec *spec, char *text, size_t size);

/* The same for so many bytes that a tenant is to have beside tasks; of none always ERGON_OK. */
enum ergon_error room_make_bytes(struct jobs *jobs, struct span tenant, size_t bytes, char *text,
                                 size_t size);

/* A small step towards the limits, which may have been lowered, and the room that was refused last
 * since too much would have had to go at once.  True: nothing is left to do. */
bool room_trim(struct jobs *jobs);

/* May a tenant hold `held` of something, while so much is `free`?  With a share of 80 %, four times
 * as much as is free: alone it gets 80 % of all, of two each gets four ninths, and whatever the
 * others hold, a later tenant finds room. */
bool room_is_shared(const struct jobs *jobs, uint64_t held, uint64_t free);

#endif
