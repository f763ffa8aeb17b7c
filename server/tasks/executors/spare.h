/* Spares: further threads for blocking executors whose handlers nobody wants any more.
 *
 * A blocking handler cannot be stopped: when its deadline or timeout has passed, or it was
 * cancelled, its task is flagged, and the handler may go on for ever.  A handler that still runs at
 * the second look after that has *outlived* its task.  For each such one a further executor,
 * planned as a spare, begins to take tasks, and its thread is started when it is wanted for the
 * first time.  When the handler returns, the spare takes no more, finishes what it has, and its
 * thread sleeps.
 *
 * A spare also begins when a principal that owns no blocking executor has waited for long, since
 * others own them all: the manager calls for it (executor_owner.h).  It takes tasks of such
 * principals only, and rests when none was served from one look to the next.
 *
 * Thread: the one that looks, which started the executors, for all of it. */
#ifndef ERGON_TASKS_SPARE_H
#define ERGON_TASKS_SPARE_H

#include "server/tasks/executors/executor.h"

struct outlived;

struct spares {
    struct tasks_shared *shared; /* borrowed */
    struct outlived *seen;       /* by place in the group of blocking executors */
    uint32_t outlived; /* executors whose handlers had outlived their tasks, at the look */
    uint32_t crowd;    /* spares at work for principals that hold no executor */
    bool unwanted;     /* some handler ran that nobody wanted, at the look */
    bool at_the_most;  /* the log has said that no further spare is left */
};

/* After the executors were made.  0, or -1 without memory: then too spares_fini() must follow.
 */
int spares_init(struct spares *s, struct tasks_shared *shared);
void spares_fini(struct spares *s); /* of zeroes: a no-op */

/* Looks at each blocking executor; names in the log what has outlived its task, and what has
 * returned, and has as many spares at work as are wanted.  True: a handler runs that nobody wants,
 * or a spare has not found its place: look again in a while, even if all sleep. */
bool spares_look(struct spares *s);

/* The manager called: one more spare is at work, if somebody waits for it still.  True: as above.
 */
bool spares_called(struct spares *s);

#endif
