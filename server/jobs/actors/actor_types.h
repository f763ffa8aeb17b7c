/* Types of actors, as modules and workers offer them.  One that was offered stays for the life of
 * the process, and so do its policy and its methods; the latest offer counts, also for messages
 * that were sent before (`follows` in core/message.h).
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_ACTOR_TYPES_H
#define ERGON_JOBS_ACTOR_TYPES_H

#include "server/jobs/actors/actors.h"
#include "server/store/store.h"

/* Takes up the types of the registry's modules, which are there before the jobs.  False, and a text
 * unless it is for memory. */
bool actor_types_init(struct actors *actors, char *error, size_t size);
void actor_types_fini(struct actors *actors); /* all actors are gone */

/* One that does not say how durable it is becomes as durable as the server can keep it.  STORE: it
 * cannot; or MEMORY. */
enum ergon_error actor_type_offered(struct actors *actors, const struct actor_offer *offer);
/* The store's rows are being read: what it can keep is known, also of one that was away before.
 * Actors that are recovered are as durable as their type then. */
void actor_type_settle(struct actor_type *type);
void actor_types_start(struct actors *actors); /* they were read: all types */
/* Writes the policies of durable types that are not in the store as they are.  False: there are
 * none. */
bool actor_types_save(struct actors *actors);
/* A row of the store: the type and its methods are known from now on, unless a module has offered
 * it.  As `recover` of struct subsystem_rows. */
bool actor_types_recover(struct actors *actors, const struct store_actor_type *row,
                         const char **fault);
/* NULL: there is none. */
struct actor_type *actor_type_find(const struct actors *actors, struct span name);

#endif
