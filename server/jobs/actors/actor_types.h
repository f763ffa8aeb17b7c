/* Types of actors, as modules and workers offer them.  One that was offered stays for the life of
 * the process, and so do its policy and its methods; the latest offer counts.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_ACTOR_TYPES_H
#define ERGON_JOBS_ACTOR_TYPES_H

#include "server/jobs/actors/actors.h"

/* Takes up the types of the registry's modules, which are there before the jobs.  False without
 * memory. */
bool actor_types_init(struct actors *actors);
void actor_types_fini(struct actors *actors); /* all actors are gone */

/* False without memory. */
bool actor_type_offered(struct actors *actors, const struct actor_offer *offer);
/* NULL: there is none. */
struct actor_type *actor_type_find(const struct actors *actors, struct span name);

#endif
