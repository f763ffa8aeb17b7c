/* Actors as clients see them, packed as MessagePack: as memory has them, or as their row does.
 *
 * Thread: the jobs'. */
#ifndef ERGON_JOBS_ACTOR_VIEWS_H
#define ERGON_JOBS_ACTOR_VIEWS_H

#include "proto/pack.h"
#include "server/jobs/actors/actors.h"

struct store_actor;

/* Valid as long as the actor, or the row, is as it is. */
struct actor_view {
    const struct actor *actor; /* in memory, perhaps without its state; NULL: it is not */
    const struct actor_type *type;
    struct span name, tenant;
    uint64_t version; /* that is on disk, or of a volatile one that it has */
    uint32_t schema;
    struct span stopped; /* why; empty: it is not */
    enum actor_stage stage;
};

struct actor_view actor_view_of(const struct actor *a);
/* `a`: the same actor in memory, where its state is not; or NULL. */
struct actor_view actor_view_of_row(const struct actor_type *type, struct span name,
                                    const struct store_actor *row, const struct actor *a);

/* Is there anything of it but its name?  As actor_is_there(). */
bool actor_view_is_there(const struct actor_view *v);

enum { ACTOR_VIEW_PAIRS = 13 };

/* ACTOR_VIEW_PAIRS of them, in a map that the caller has begun. */
void actor_view_pack(struct jobs *jobs, struct pack *p, const struct actor_view *v);

/* Messages in its mailbox; that which runs is none. */
uint32_t actor_waiting(const struct actor *a);

#endif
