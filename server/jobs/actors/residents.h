/* Actors in memory: by their names, what they take, and the idle ones, by the time when that began.
 *
 * All together may take actors.bytes, without their messages, which are jobs.  One that is idle and
 * has a row in the store is a copy, and leaves memory when another needs the room.  The others are
 * fixed: of those a tenant may have its share (tasks.tenant_share).  An actor that is not in
 * memory, but has a record since jobs name it, counts with the tasks.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_RESIDENTS_H
#define ERGON_JOBS_RESIDENTS_H

#include "server/jobs/actors/actors.h"

uint64_t actor_hash(const struct actors *actors, const struct tenant *tenant, struct span name);
/* Both NULL: there is none.  `hash`: of actor_hash(). */
struct actor *actor_find_hashed(const struct actors *actors, const struct tenant *tenant,
                                struct span name, uint64_t hash);
struct actor *actor_find(const struct actors *actors, struct span tenant, struct span name);

/* Something of it has changed: it counts as it is now. */
void residents_weigh(struct actor *a);
/* It goes. */
void residents_weigh_nothing(struct actor *a);
/* Is there room for so many bytes of this tenant, beside what is fixed?  Else BUSY, and a text. */
bool residents_have_room(const struct actors *actors, const struct tenant *tenant, size_t bytes,
                         struct refusal *why);
/* Have all together more than they may have, with so many bytes more? */
bool residents_are_over(const struct actors *actors, size_t bytes);

/* It is idle from now on. */
void residents_add_idle(struct actor *a);
void residents_remove_idle(struct actor *a); /* if it is */
/* Of the copies, the one that became idle first; NULL: there is none. */
struct actor *residents_oldest_copy(const struct actors *actors);
/* When an idle one goes, by its type. */
ao_time residents_go_at(const struct actor *a);
/* The type's timer sleeps until the first of its idle actors goes. */
void residents_await(struct actor_type *type);

#endif
