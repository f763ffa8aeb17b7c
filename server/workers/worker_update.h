/* Worker updates: what the worker loops report of their workers, and what the manager answers.
 *
 *   worker loop                         manager
 *     JOIN --------------------------->  methods are interned, it becomes a member of a group
 *     <----------------------- JOINED    or is refused
 *     SETTLE (quiet, or not any more) -> its group is given nothing for it, or something again
 *     <---------------------- SETTLED
 *     ROOM --------------------------->  what it has is looked at
 *     LEAVE -------------------------->  out of its group; once no attempt of a job is out there:
 *     <------------------------- LEFT    the last word: so many tasks it was given
 *
 * After LEFT the manager knows it no more.
 *
 * The manager never sleeps on a task beside a worker that has room.  The argument is that of
 * manager.c, with a list in place of the counters.  The manager announces that it waits, and looks
 * at the list again; a worker loop pushes to the list, and looks at the announcement (waker.c has
 * the fences).  So the manager sees what was pushed, or the worker loop the announcement.  A worker
 * loop pushes nothing where the word `reported` is not 0 already: then the manager has still to
 * take that word, and sees with it all that was written before the bit was set.
 *
 * Thread: the manager's. */
#ifndef ERGON_WORKERS_UPDATE_H
#define ERGON_WORKERS_UPDATE_H

#include "server/workers/worker_group.h"

/* What has come since the last look, as far as a step may take it: 500 methods of workers that
 * join, leave, become quiet or open again.  False: some is left for the next step.  After the
 * inbox: whatever a worker loop gave back, it said before that its worker takes no more.  (Where so
 * many workers have updates that this one was not seen, the worker may be given the task once more,
 * and gives it back again.) */
bool worker_updates_take(struct manager *m);

static inline bool worker_updates_any(const struct manager *m)
{
    return m->roster->news || m->roster->updates || !mpsc_empty(&m->shared->inbox.updates);
}

/* At the end of a step in which pools wait for room at workers: worker loops are to notify the
 * manager of it. True: one has, meanwhile.  The announcement is kept until one does, though no pool
 * may wait any more: then the notice is in vain. */
bool worker_updates_wait(struct manager *m);

/* An attempt has returned from this executor, or never will. */
void worker_updates_attempt_back(struct executor *e);

#endif
