/* Durable actors come into memory by their name: when a message to one is the next, when it is
 * read, or when an operation asks for it.
 *
 *     AWAY ---> COMES ---> HERE
 *                 |
 *                 +--> UNREAD: callers and operations are answered STORE; other messages wait, and
 *                      it is read again every second, or when the next call comes
 *
 * Messages that wait keep their places: the first has the reason loading.  One that is cancelled
 * leaves its place as always; the load goes on, and goes on with the messages that are left.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_LOADS_H
#define ERGON_JOBS_LOADS_H

#include "server/jobs/actors/actors.h"

/* Its load begins, unless one is under way; it has its extras. */
void loads_begin(struct actor *a);
/* The operation waits for the load; where none is needed it is false.  True: it waits, or has been
 * answered. */
bool loads_await(struct actors *actors, struct span tenant, struct span name, struct operation *op);
/* Once in a while: what failed is tried again.  False: there was nothing. */
bool loads_try_again(struct actors *actors);
/* Nothing comes back any more: operations that wait are answered DRAINING. */
void loads_dismiss(struct actors *actors);

#endif
