/* Semaphores that clients name: each is a limit (sched/limits.h) whose permits clients may hold,
 * too.
 *
 * They and their bytes are counted, and bounded in all and by tenant.
 *
 * Thread: the jobs'.  Nothing here blocks. */
#ifndef ERGON_JOBS_SEMAPHORE_H
#define ERGON_JOBS_SEMAPHORE_H

#include "base/counter.h"
#include "base/hash_table.h"
#include "base/list.h"
#include "server/jobs/core/refusal.h"
#include "server/jobs/sched/limits.h"

struct hold;
struct jobs;
struct semaphore_walk;

enum { SEMAPHORES_MAX = 10000 /* in all */ };

struct semaphore {
    struct jobs *jobs;
    struct line *line;             /* of its holds; a reference, by which its limit stays, too */
    struct semaphore *prev, *next; /* all */
    struct hold *first, *last;     /* held, in the order in which they began */
    struct hold *waiting;          /* in no order */
    uint32_t held_count, waiting_count;
    bool durable;    /* what is held of it has rows: rows.h */
    uint64_t row;    /* its number; until it is known to be in no file; 0: it has none */
    uint32_t writes; /* of its row, on their way */
    bool unsaved;    /* the file does not say what it is: it is in the list of such */
    LIST_ENTRY(semaphore) by_unsaved;
};

/* All semaphores, with what clients hold of them (holds.h). */
struct semaphores {
    struct hash_table secrets, fences, holders;
    struct semaphore *first, *last;
    struct semaphore_walk *walks;
    struct hold *over; /* holds whose time is over, by next_over */
    struct hold *gone; /* holds that have ended, whose rows may still be in the file */
    LIST_HEAD(, semaphore) unsaved;
    LIST_HEAD(, hold) unsaved_holds;
    uint32_t count, hold_count;
    uint64_t last_fence; /* that the store ever saw */
    uint64_t suspended;  /* ns that the machine was suspended by the last holds_look() */
    counter shown, shown_held, shown_waiting;
};

/* NULL: there is none; there may be a limit. */
struct semaphore *semaphore_find(const struct jobs *jobs, struct span tenant, struct span name);
/* Of the limit of this name, or with one of so many permits, which is made; `max` 0: only if there
 * is such a limit.  NULL: ERGON_E_NOT_FOUND, ERGON_E_BUSY (there are too many, in all or of the
 * tenant), ERGON_E_MEMORY, and a text. */
struct semaphore *semaphore_make(struct jobs *jobs, struct span tenant, struct span name,
                                 uint32_t max, struct refusal *why);
/* The same, of the file, without a look at how many there are.  NULL without memory. */
struct semaphore *semaphore_recover(struct jobs *jobs, struct span tenant, struct span name,
                                    uint32_t max);
/* It goes, if it is not kept, and has no hold and no row. */
void semaphore_settle(struct jobs *jobs, struct semaphore *s);
static inline struct limit *semaphore_limit(const struct semaphore *s)
{
    return s->line->limit;
}
void semaphore_set_durable(struct semaphore *s, bool durable);

/* A walk through all, in small steps: what comes and goes meanwhile does not disturb it. */
struct semaphore_walk {
    struct semaphore_walk *next;
    struct semaphore *at;
};
void semaphore_walk_begin(struct jobs *jobs, struct semaphore_walk *walk);
struct semaphore *semaphore_walk_next(struct semaphore_walk *walk); /* NULL: that was all */
void semaphore_walk_end(struct jobs *jobs, struct semaphore_walk *walk);

#endif
