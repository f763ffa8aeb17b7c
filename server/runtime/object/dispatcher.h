/* The dispatcher: an activator's doubly linked list of active objects, between two sentinels.
 *
 * A step may append and remove any object during a walk, the object being stepped included.  A walk
 * visits, once and in order, the objects that were in the list when it began and are still in it
 * when their turn comes.  Objects that are appended meanwhile come after the mark and are visited
 * by the next walk, except those that dispatcher_run_next() puts first.
 *
 * Objects that are behind (object.h) are in other lists, their parties.  A walk of these visits
 * the first object of each party in turn.  It begins where the last such walk ended, may end early,
 * and visits no object twice.
 *
 * Home thread only; nothing fails.  The lists borrow their objects; an object in no list has prev
 * and next NULL. */
#ifndef ERGON_RUNTIME_DISPATCHER_H
#define ERGON_RUNTIME_DISPATCHER_H

#include <ergon/ao.h>

#include "base/list.h"

/* Visits per walk; the objects in the list get their turn, too.  With 256 a round of 100 actors
 * that were stepped without end took 5 ms, and `echo` beside them 14; the rates of calls are the
 * same. */
enum { OUT_OF_TURN_MAX = 16 };

/* A party: objects that are behind and share their turns. */
struct behind {
    struct ao first, last; /* sentinels */
    struct ao mark; /* the end of the current walk of the party; it stays until the next walk */
    TAILQ_ENTRY(behind) link;
    uint64_t walk; /* the last walk in which the party was visited */
    bool queued;   /* it is in the dispatcher's list */
};
TAILQ_HEAD(behind_list, behind);

struct dispatcher {
    struct ao first, last;      /* sentinels, never stepped */
    struct ao mark;             /* the end of the walk; in the list only during a walk */
    struct behind common;       /* the party of objects without another one */
    struct behind_list parties; /* those that may not be empty */
    struct behind_list walked;  /* those that this walk has finished */
    uint64_t walks;
    struct ao *cursor;    /* the next object to visit; NULL outside of a walk */
    unsigned out_of_turn; /* visits out of turn in this walk */
    uint64_t count;       /* objects in all lists */
};

void behind_init(struct behind *party);

void dispatcher_init(struct dispatcher *d);
void dispatcher_append(struct dispatcher *d, struct ao *ao); /* it is in no list */
void dispatcher_remove(struct dispatcher *d, struct ao *ao); /* it is in a list */
/* NULL if no object is active.  Outside of a walk. */
struct ao *dispatcher_front(const struct dispatcher *d);

/* A walk calls dispatcher_next() until it returns NULL; there is one at a time. */
void dispatcher_begin(struct dispatcher *d);
void dispatcher_end(struct dispatcher *d);

/* Moves an object in the list to the front, to be visited next.  A no-op outside of a walk, and
 * beyond OUT_OF_TURN_MAX. */
void dispatcher_run_next(struct dispatcher *d, struct ao *ao);

/* Moves an object in a list to the end of a party; NULL: the common one. */
void dispatcher_put_behind(struct dispatcher *d, struct ao *ao, struct behind *party);

/* Removes an empty party. */
void dispatcher_forget(struct dispatcher *d, struct behind *party);
/* Removes all parties, which are empty, at the dispatcher's end. */
void dispatcher_forget_all(struct dispatcher *d);

/* A walk of the objects behind, outside of the other walk, calls dispatcher_next_behind() until it
 * returns NULL, or while there is time.  A visited object moves to the end of its party. */
void dispatcher_begin_behind(struct dispatcher *d);
struct ao *dispatcher_next_behind(struct dispatcher *d);
void dispatcher_end_behind(struct dispatcher *d);

static inline bool dispatcher_any_behind(const struct dispatcher *d)
{
    return !TAILQ_EMPTY(&d->parties);
}

static inline bool dispatcher_at_end(const struct dispatcher *d)
{
    return d->cursor == &d->mark;
}

/* NULL at the end of the walk.  Inline, since it is in the innermost loop of the server. */
static inline struct ao *dispatcher_next(struct dispatcher *d)
{
    struct ao *ao = d->cursor;
    if (ao == &d->mark)
        return NULL;
    d->cursor = ao->next;
    __builtin_prefetch(ao->next, 1);
    return ao;
}

/* Checks the links in both directions, and the count, of all lists; for tests. */
bool dispatcher_validate(const struct dispatcher *d);

#endif
