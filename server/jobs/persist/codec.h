/* A job as a row of the store, and the memory of operations that go there.
 *
 * Thread: the jobs'.  An operation is the caller's until it is pushed, then the store's, and again
 * the jobs' when it is back. */
#ifndef ERGON_JOBS_CODEC_H
#define ERGON_JOBS_CODEC_H

#include "server/jobs/core/job.h"
#include "server/store/store.h"

struct jobs;

/* As the file has it: 0 means none. */
static inline uint64_t codec_duration(ao_time duration)
{
    return duration == AO_NEVER ? 0 : duration;
}

/* Unix ns, in the column `due_at`: not before somebody acts; also after it was set back. */
#define CODEC_DUE_NEVER ((uint64_t)INT64_MAX)

void codec_init(struct jobs *jobs);
void codec_fini(struct jobs *jobs); /* all writes have come back */

/* Handles an operation that is back, with its outcome in `error`.  It is called once, on the jobs'
 * thread, before the operation is freed. */
typedef void write_done(struct jobs *jobs, struct store_op *write);

/* Is what never changes otherwise written again? */
bool codec_is_anew(const struct job *job);
/* Puts the row that the file does not have yet, or changes it; NULL without memory.  Its spans lie
 * in the job, but for what may change while the write is on its way.  The job is counted as it is
 * now; the tag is what it was counted as before, should the write fail. */
struct store_op *codec_write(struct jobs *jobs, struct job *job, write_done *done);

/* Changes the row of an open job, of which another write may be on its way, so that it is to be
 * cancelled; the job does not know of that.  NULL without memory. */
struct store_op *codec_cancel(struct jobs *jobs, struct job *job, write_done *done);

/* An operation, zeroed, and `more` bytes behind it; NULL without memory. */
struct store_op *codec_write_new(struct jobs *jobs, enum store_kind kind, size_t more,
                                 write_done *done);
/* The same, to put or remove a row of this table: its struct at write->row, zeroed. */
struct store_op *codec_row_new(struct jobs *jobs, enum store_kind kind,
                               const struct store_table *table, size_t more, write_done *done);
/* Of a STORE_GROUP, which is made without members: calls `done` of one, as that of the group has
 * to.
 */
void codec_member_back(struct jobs *jobs, struct store_op *member);
void codec_group_add(struct store_op *group, struct store_op *member);
/* Without memory for all members: those that are there come back with STORE_MEMORY, and the group
 * is freed without a call of its `done`. */
void codec_group_undo(struct jobs *jobs, struct store_op *group);
/* It is back: `done` is called, and it is freed. */
void codec_write_back(struct jobs *jobs, struct store_op *write);
/* It never comes back; a group with its members. */
void codec_write_free(struct jobs *jobs, struct store_op *write);

/* --- What a row may hold --- */

/* Whether a row of the store can be a job: what the store knows nothing of, since to it a task is
 * columns.  A file may be damaged so that each column still holds a number or bytes.
 *
 * Pure; any thread.  NULL: it can; else a constant text for people. */

const char *row_check_task(const struct store_task *row);
const char *row_check_event(const struct store_event *row);
const char *row_check_rate(const struct store_rate *row);
const char *row_check_cron(const struct store_cron *row);
const char *row_check_semaphore(const struct store_semaphore *row);
const char *row_check_hold(const struct store_hold *row);
const char *row_check_batch(const struct store_batch_row *row);

#endif
