/* A type that was durable, and is kept in memory alone now, leaves rows in the store.  The jobs
 * remove them, so that an old state does not return when the type becomes durable again.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_LEFTOVERS_H
#define ERGON_JOBS_LEFTOVERS_H

#include "server/jobs/actors/actors.h"

/* Begins to remove them, some at a time, unless that is under way; it ends when there are none, the
 * type is durable again, or the store fails.  The next start, or offer, begins anew then. */
void leftovers_remove(struct actor_type *type);
/* The store takes writes from now on: those of all types that are not durable. */
void leftovers_remove_all(struct actors *actors);

#endif
