/* Tasks that an attempt of a task submits: they belong to the end of that attempt.
 *
 * As the attempt ends well all of it is submitted (outbox.h); or one is refused, and the attempt
 * has failed, by that code.
 *
 * - Where nothing of it has to be on disk the task ends as any other.
 * - Else the first rows of what it submitted and the end of the task are one group of the store
 *   (journal.h): the task is JOB_ENDING until that is back.
 * - Where it joined, by a key, a job that is not on disk yet, the group waits for that.  If that
 *   will have no row the task runs again.
 *
 * So after any kill -9 either the task has ended and all of it is there, or none of it is, and the
 * task runs again.  A task that has no row itself ends when the group of what it submitted is on
 * disk, and as FAILED, STORE, where that cannot be written.  What is in memory alone begins at
 * once.
 *
 * A group that the store refuses for good ends the task as FAILED, STORE: it has submitted nothing.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_TASK_SENDS_H
#define ERGON_JOBS_TASK_SENDS_H

#include "server/jobs/actors/actors.h"

struct task_sends;

/* The attempt of the task ended well.  MESSAGE_ENDS: the task is to end, with `sent` set where its
 * end waits for the disk; MESSAGE_BAD: nothing was submitted, `why` is filled. */
enum message_verdict task_sends_take(struct actors *actors, struct job *job,
                                     struct attempt_turn *turn, struct refusal *why);
/* message_hooks: `writes`, `writes_alone`, of a task with `sent`. */
enum message_write task_sends_group(struct jobs *jobs, struct job *job, struct store_op **group);
void task_sends_alone(struct jobs *jobs, struct job *job);
/* The job is about to be freed. */
void task_sends_forget(struct job *job);

/* Looks at what waits for jobs that are not on disk. */
void task_sends_look(struct actors *actors);

#endif
