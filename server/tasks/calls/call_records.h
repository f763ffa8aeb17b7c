/* The call records of one home, and the lists that owners of calls hold: an index and a generation
 * name a record, so that a task that comes home late finds no record, and not one of another call.
 *
 * Thread: the home's.  The records are the home's; a caller that takes one gives it back. */
#ifndef ERGON_TASKS_CALL_RECORDS_H
#define ERGON_TASKS_CALL_RECORDS_H

#include "server/tasks/call.h"

struct task_trace;

enum {
    CALLS_CHUNK = 128,    /* records */
    CALLS_MAX = 1 << 20,  /* of one home */
    CALLS_KEPT = 8,       /* chunks that stay when no call is open */
    CALLS_GIVEN_BACK = 16 /* chunks at most that one calls_shrink() gives back: about 0.1 ms */
};

/* A record, and what only home knows of it. */
struct call_record {
    struct call call;
    struct call_record *next_free;
    struct home *home;
    call_ended_fn *ended; /* what is called at its end */
    void *arg;
    struct ao timer;                /* sleeps until the deadline, if there is one */
    bool open;                      /* accepted, and `ended` was not called yet */
    bool managed;                   /* its task went to the manager */
    const struct task_trace *trace; /* its task's; NULL: it has none */
};

struct calls {
    struct call_record **chunks;
    uint32_t chunk_count, chunk_room;
    uint32_t used;  /* chunks; the records of those behind are not taken, and are in no list */
    uint32_t born;  /* generation of records that are made from now on: no task has seen it */
    uint32_t taken; /* records in use */
    struct call_record *free;
};

void calls_init(struct calls *c);
void calls_fini(struct calls *c);

/* A record of `home`, its timer ready for use.  NULL: CALLS_MAX is reached, or memory is. */
struct call_record *calls_take(struct calls *c, struct home *home, const struct ao_class *timer,
                               struct activator *activator);
void calls_give(struct calls *c, struct call_record *record); /* its name is void from here on */

/* Gives some memory back after a burst, once no record was in use.  True: there is more, call
 * again. Not from within a step of a record's timer. */
bool calls_shrink(struct calls *c);

/* The record of this name; NULL when it was given back. */
struct call_record *calls_find(const struct calls *c, uint32_t index, uint32_t generation);

/* The first open record at `from` or behind; NULL: none.  For a walk over all. */
struct call_record *calls_open_from(const struct calls *c, uint32_t from);

#endif
