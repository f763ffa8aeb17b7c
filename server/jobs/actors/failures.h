/* The messages of an actor that failed, counted, in memory alone: an actor that none failed of
 * takes nothing here.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_FAILURES_H
#define ERGON_JOBS_FAILURES_H

#include "server/jobs/actors/actors.h"

/* One failed now.  True: as many as the `intensity` of its type have within its `window`.  Without
 * memory it is not counted. */
bool failures_note(struct actor *a);
/* Since the actor was started last, while it is in memory. */
uint32_t failures_count(const struct actor *a);
void failures_forget(struct actor *a); /* none has */
void failures_fini(struct actors *actors);

#endif
