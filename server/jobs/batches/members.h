/* The members of batches, and what they change of its counts: those of struct batch are always what
 * a count of the members says, and of those that were forgotten.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_BATCH_MEMBERS_H
#define ERGON_JOBS_BATCH_MEMBERS_H

#include "server/jobs/core/member.h"

struct jobs;
struct job_census;

/* The functions of struct member_hooks; `arg` is the jobs. */
struct member_hooks members_hooks(struct jobs *jobs);

/* Everybody may see that the member has ended. */
void members_ended(struct jobs *jobs, const struct job *job);
/* The member is about to be freed.  Of a durable batch whose end is not on disk its row goes with a
 * write of the batch, which says how it ended. */
void members_goes(struct jobs *jobs, struct job *job);

/* --- An audit: the members are counted as all jobs are (core/walk.h) --- */

void members_audit_begin(struct jobs *jobs, struct job_census *census);
/* All jobs were counted.  False: the counts of a batch differ from that, and a text says so. */
bool members_audit(const struct jobs *jobs, char *text, size_t size);

#endif
