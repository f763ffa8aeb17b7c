/* Operations that wait for a version of an actor: actor.watch.
 *
 * A watcher names the version that it waits for, one above the last that it knows.  It is due when
 * the actor has that one or a higher one; or one that is below the last it knows, since the actor
 * was dropped meanwhile.  An actor that is watched stays in memory.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_WATCHERS_H
#define ERGON_JOBS_WATCHERS_H

#include "server/jobs/actors/actors.h"

/* An operation that waits; it is part of the operation. */
struct actor_watcher {
    struct actor_watcher *prev, *next;
    uint64_t from; /* at least 1 */
};

static inline bool watchers_is_due(const struct actor *a, const struct actor_watcher *w)
{
    return a->version >= w->from || a->version + 1 < w->from;
}

/* The actor has its extras; actor_settle() follows both. */
static inline void watchers_join(struct actor *a, struct actor_watcher *w)
{
    struct actor_more *more = a->more;
    if (!more->watchers)
        more->told = a->version;
    w->prev = NULL;
    w->next = more->watchers;
    if (w->next)
        w->next->prev = w;
    more->watchers = w;
}

static inline void watchers_leave(struct actor *a, struct actor_watcher *w)
{
    *(w->prev ? &w->prev->next : &a->more->watchers) = w->next;
    if (w->next)
        w->next->prev = w->prev;
}

#endif
