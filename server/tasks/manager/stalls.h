/* Stalls: blocking executors whose task does not end, and the tasks that wait behind it.
 *
 * An executor is given tasks ahead of time, since a hand-over takes time and most tasks are brief.
 * If the one before them does not end, they would wait for it while other executors are free.  So
 * an executor from which no task has left for STALLS_MAX_WAIT is stalled until one does: what its
 * thread has not claimed goes back to the common queue, in front of what waits there, and it is
 * given nothing more behind the task that it runs.
 *
 * The manager looks every STALLS_MAX_WAIT while an executor has more than one task.  One whose
 * handler waits is counted as free (blocking.h), and the handler may go on before a task that was
 * given meanwhile is there: such a task, too, is behind another.
 *
 * Thread: the manager's.  It concerns the pool of the blocking executors alone. */
#ifndef ERGON_TASKS_STALLS_H
#define ERGON_TASKS_STALLS_H

#include "server/tasks/manager/manager.h"

#define STALLS_MAX_WAIT AO_MS(10)

/* An executor was given a task, which its snapshot counts: if that is behind another, the manager
 * will look. */
void stalls_note(struct manager *m, const struct pool *p, int chosen);

/* At the begin of a pass, into snapshots and bounds: an executor that is stalled has room for one
 * task, which it has. */
void stalls_bound(struct pool *p);

/* Set-up and tear-down of the object that looks. */
void stalls_init(struct manager *m);
void stalls_fini(struct manager *m);

#endif
