/* All that clients share by name: the tables of holds.h and named_events.h, and the numbers that
 * both give out.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SHARED_SHARED_H
#define ERGON_JOBS_SHARED_SHARED_H

#include "base/counter.h"
#include "base/hash_table.h"
#include "proto/errors.h"

struct hold;
struct jobs;
struct semaphore;
struct semaphore_walk;

struct shared {
    struct hash_table secrets, fences, holders;
    struct semaphore *semaphores, *semaphores_last;
    struct semaphore_walk *walks;
    struct hold *over;
    struct hold *gone; /* that a write of their row still points to */
    uint32_t semaphore_count, hold_count;
    struct hash_table events;
    uint64_t suspended;   /* ns: of the machine, as it was last looked at: holds_look() */
    uint64_t last_number; /* see shared_number() */
    counter shown_semaphores, shown_held, shown_waiting, shown_events;
};

struct shared *shared_new(void);      /* NULL without memory */
void shared_free(struct shared *all); /* it is empty; NULL is fine */

/* A number above all before it: the microseconds since 2020, or the last one plus 1.  So those of a
 * later start are higher, too, unless the clock was set back; those of durable holds in any case.
 * It stays below 2^53, so that
 * programs that know no whole numbers beyond have it exactly. */
uint64_t shared_number(struct jobs *jobs);
/* This one was given out by an earlier start. */
void shared_number_past(struct jobs *jobs, uint64_t number);

/* Says why something is not done.  False, always. */
bool shared_refuse(enum ergon_error *error, enum ergon_error wrong, char *text, size_t size,
                   const char *why);

#endif
