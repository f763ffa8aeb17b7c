/* How many actors the store has, all together and of each tenant: actors.max bounds that.
 *
 * The rows are counted once, from the start on, page by page in the order of their names, if there
 * are types of actors then; meanwhile nothing is refused.  From then on each row that is added or
 * removed changes the counts.  server.audit counts the rows again, and compares.  A row that is
 * added or removed while a count is under way changes that if its name was passed already: the
 * store has applied the write behind the page.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_COUNTS_H
#define ERGON_JOBS_COUNTS_H

#include "server/jobs/actors/actors.h"
#include "server/store/store.h"

void counts_init(struct actors *actors);
void counts_fini(struct actors *actors);
/* The store takes writes. */
void counts_start(struct actors *actors);

/* The actor's row is on disk, or was removed from there. */
void counts_wrote(struct actor *a);
void counts_removed(struct actor *a);
/* A row of this name was, of which no actor says that it has it. */
void counts_removed_row(struct actors *actors, const struct store_actor *row);

/* May the actor, which has no row, get one?  False: BUSY, and a text. */
bool counts_may_add(const struct actor *a, struct refusal *why);

/* For server.audit.  Begins to count the rows again. */
void counts_check(struct actors *actors);
/* True: that is over.  `known`: both numbers are. */
bool counts_checked(const struct actors *actors, bool *known, uint64_t *rows, uint64_t *counted);

#endif
