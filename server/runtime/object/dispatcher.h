/* The dispatcher: an activator's doubly linked list of active objects, between two sentinels.
 *
 * It is safe while it is being walked: a step may append and remove any object, the one being
 * stepped included.  A walk visits what stood in the list when it began and still stands in its
 * place when its turn comes, once, in order; what is appended meanwhile comes after the mark, in
 * the next walk.  The exception is what dispatcher_run_next() puts before the others.
 *
 * Behind the list stand those that go on and on (object.h), in parties that take turns: in a walk
 * of them the next is the first of the next party.  These walks begin where the last ended, may end
 * before all had their turn, and visit nobody twice.
 *
 * Home thread only; nothing fails.  The list borrows its objects; one outside of it has prev and
 * next NULL. */
#ifndef ERGON_RUNTIME_DISPATCHER_H
#define ERGON_RUNTIME_DISPATCHER_H

#include <ergon/ao.h>

#include "base/list.h"

enum { OUT_OF_TURN_MAX = 256 }; /* what stands in the list has its turn too */

/* Objects that stand behind together. */
struct behind {
    struct ao first, last; /* sentinels */
    struct ao mark;        /* ends the current walk of the party; stays until the next */
    TAILQ_ENTRY(behind) link;
    uint64_t walk; /* the last one in which it was visited */
    bool queued;   /* stands in the dispatcher's list */
};
TAILQ_HEAD(behind_list, behind);

struct dispatcher {
    struct ao first, last;      /* sentinels: never stepped */
    struct ao mark;             /* ends the walk; in the list during a walk only */
    struct behind common;       /* the party of those that have no other */
    struct behind_list parties; /* those that may have somebody */
    struct behind_list walked;  /* those that are over in this walk */
    uint64_t walks;
    struct ao *cursor;    /* the next to visit; NULL outside of a walk */
    unsigned out_of_turn; /* visits out of turn in this walk */
    uint64_t count;       /* of all lists */
};

void behind_init(struct behind *party);

void dispatcher_init(struct dispatcher *d);
void dispatcher_append(struct dispatcher *d, struct ao *ao); /* it is outside */
void dispatcher_remove(struct dispatcher *d, struct ao *ao); /* it is inside */
/* NULL when both lists are empty; outside of a walk. */
struct ao *dispatcher_front(const struct dispatcher *d);

/* A walk, one at a time: dispatcher_next() until it gives NULL. */
void dispatcher_begin(struct dispatcher *d);
void dispatcher_end(struct dispatcher *d);

/* An object that stands in the list is visited next, whatever its place was; a no-op outside of a
 * walk, and beyond OUT_OF_TURN_MAX. */
void dispatcher_run_next(struct dispatcher *d, struct ao *ao);

/* An object that stands in a list is the last of a party from now on; NULL: the common one. */
void dispatcher_put_behind(struct dispatcher *d, struct ao *ao, struct behind *party);

/* A party of which nobody is left goes. */
void dispatcher_forget(struct dispatcher *d, struct behind *party);
/* At the dispatcher's end, when nobody is left: it knows no party any more. */
void dispatcher_forget_all(struct dispatcher *d);

/* A walk of those behind, outside of the other: dispatcher_next_behind() until it gives NULL, or
 * for as long as there is time.  Whoever is visited is the last from then on. */
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

/* NULL at the end of the walk.  Inline: it stands in the innermost loop of the server. */
static inline struct ao *dispatcher_next(struct dispatcher *d)
{
    struct ao *ao = d->cursor;
    if (ao == &d->mark)
        return NULL;
    d->cursor = ao->next;
    __builtin_prefetch(ao->next, 1);
    return ao;
}

/* Links agree in both directions, the count is right.  Walks all; for tests. */
bool dispatcher_validate(const struct dispatcher *d);

#endif
