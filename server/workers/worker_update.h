/* Hires: what docks tell the manager of their workers, and what it answers.
 *
 *   dock                                manager
 *     JOIN --------------------------->  methods are interned, it becomes a member of a crew
 *     <----------------------- JOINED    or is refused
 *     SETTLE (quiet, or not any more) -> its crew is given nothing for it, or something again
 *     <---------------------- SETTLED
 *     ROOM --------------------------->  what it has is looked at
 *     LEAVE -------------------------->  out of its crew; once no attempt of a job is out there:
 *     <------------------------- LEFT    the last word: so many tasks it was given
 *
 * After LEFT the manager knows it no more.
 *
 * Why the manager never sleeps on a task beside a worker that has room: it is the argument of
 * manager.c, with a list in place of the counters.  The manager announces that it waits, and looks
 * at the list again; a dock pushes to the list, and looks at the announcement (waker.c has the
 * fences).  So the manager sees what was pushed, or the dock the announcement.  A dock pushes
 * nothing where the word `told` is not 0 already: then the manager has still to take that, and sees
 * with it all that was written before the bit was set.
 *
 * Thread: the manager's. */
#ifndef ERGON_WORKERS_UPDATE_H
#define ERGON_WORKERS_UPDATE_H

#include "server/tasks/manager/manager.h"

/* What has come since the last look, as far as a step may take it: 500 methods of workers that
 * join, leave, become quiet or open again.  False: some is left for the next step.  After the
 * inbox: whatever a dock gave back, it said before that its worker takes no more.  (Where so many
 * workers told something that this was not seen, the worker may be given the task once more, and
 * gives it back again.) */
bool hires_take(struct manager *m);

static inline bool hires_any(const struct manager *m)
{
    return m->news || m->hires || !mpsc_empty(&m->shared->inbox.hires);
}

/* At the end of a step in which pools wait for room at workers: docks are to tell of it.  True: one
 * has, meanwhile.  It stands until one does, though nobody may wait any more: then that is told in
 * vain. */
bool hires_wait(struct manager *m);

/* An attempt has returned from this executor, or never will. */
void hires_attempt_back(struct manager *m, struct executor *e);

/* Its crew's methods are made as they are named: a pool for each.  For registry_on_intern(). */
bool hires_method_made(void *arg, struct method *method);

#endif
