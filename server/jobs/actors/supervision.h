/* What follows when a message of an actor is given up: the policy of the type (on_failure), a stop
 * when too many fail (intensity, window), and a message to the supervisor.
 *
 * A message has failed when it ended FAILED or DEAD after an attempt.  Permanent codes (BAD_PARAMS,
 * PERMANENT_..., life/outcome.h) are answers of the handler and do not count, nor do methods that
 * read.  Failures are kept in memory alone.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_SUPERVISION_H
#define ERGON_JOBS_SUPERVISION_H

#include "server/jobs/actors/actors.h"

/* The message has failed for good, and still has its place.  The actor may be stopped by this, or
 * have no state.  Its supervisor gets `failed [actor, method, error, stopped]`.  The rows of all of
 * this are pushed now, so before the end of the message: a crash may repeat the message, and never
 * forgets what follows. */
void supervision_gave_up(struct actor *a, struct job *job);
/* The message has ended, and still has its place: the same, unless it was so before; the supervisor
 * gets its message soon. */
void supervision_ended(struct actor *a, struct job *job);
/* The same of one that has failed for good, and goes on. */
void supervision_failed(struct actor *a, const struct job *job);
/* Sends what supervisors are to get, as far as there is time.  True: nothing is left.  One that is
 * refused is logged. */
bool supervision_send(struct actors *actors);
void supervision_fini(struct actors *actors);

#endif
