/* The owner of a blocking executor: the principal whose tasks it has.  By this one principal whose
 * handlers run for long does not keep all others out.
 *
 * A task behind a handler that runs is taken back only after a while (stalls.h), and how long that
 * handler will run is a guess.  So both are of the same owner: no principal waits behind another's
 * handler.  While a task waits for an executor to become empty, tasks that came later do not fill
 * up the executors of their owner.
 *
 * The first principal may own all executors; without others none is kept free.  But when the task
 * of a principal that owns none has waited for longer than EXECUTOR_OWNER_MAX_WAIT, a spare is
 * asked for (spare.h), and a further one each time that this has passed again.  Such a spare takes
 * tasks of principals without an executor only.  So each of them is served, one task at a time,
 * however long the others' handlers run.
 *
 * All jobs together have one owner, and so have the calls that are nobody's.
 *
 * Thread: the manager's.  The pool is borrowed, and is that of the blocking executors; to wait and
 * serve it may also be one that is joined to it. */
#ifndef ERGON_TASKS_EXECUTOR_OWNER_H
#define ERGON_TASKS_EXECUTOR_OWNER_H

#include "server/tasks/manager/manager.h"

#define EXECUTOR_OWNER_MAX_WAIT AO_MS(20)

/* Do they have a say in this pass?  Where executors have room for one task each, and none is a
 * spare, they have none. */
bool executor_owners_matter(const struct pool *p);

/* `t` NULL: a job.  May executor `i` be given it? */
bool executor_owner_allow(const struct pool *p, uint32_t i, const struct task *t);
/* The same of a nested call, which may have a spare too. */
bool executor_owner_allow_nested(const struct pool *p, uint32_t i, const struct task *t);

void executor_owner_note(struct manager *m, struct pool *p, int chosen, const struct task *t);

/* At the end of a pass of `p` over the executors of `x`: no task waits; or tasks are left, or jobs
 * of the source, and no executor has room.  The latter asks for a spare when it is time to, and
 * returns when to look again; AO_NEVER: no need to. */
void executor_owner_serve(struct manager *m, struct pool *p);
ao_time executor_owner_wait(struct manager *m, struct pool *p, const struct pool *x);

#endif
