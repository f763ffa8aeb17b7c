/* A loop's channel to the jobs: two lanes, and on the loop an object that takes what comes back.
 *
 * An operation goes in and comes back once.  One that is dropped is followed by its drop, which
 * comes back too; the loop gets the operation when both have, for then nothing refers to it.
 *
 * Thread: the loop's or the jobs', as the headings say.  The channels are the jobs'; an operation
 * is the jobs' from channel_give() until it came back, and a push is the loop's from channel_push()
 * on. Nothing here fails but channel_open(). */
#ifndef ERGON_JOBS_CHANNEL_H
#define ERGON_JOBS_CHANNEL_H

#include "server/jobs/service/operation.h"

/* Something for an operation that stays open: a watcher's event. */
struct operation_push {
    struct operation_item item; /* first */
    struct operation *op;
    struct pack message; /* the parameters of the notification, packed */
};

/* What a loop does with what comes back, called on the loop's thread; the operation, and the
 * push, malloc'ed, are the loop's then.  For an operation that was dropped `answered` is called
 * once, when nothing refers to it any more. */
struct channel_port {
    void (*answered)(void *arg, struct operation *op);
    void (*pushed)(void *arg, struct operation_push *p);
    void *arg;
};

/* --- The loop's side --- */

/* Before the threads start; freed by channels_free().  NULL without memory. */
struct jobs_channel *channel_open(struct jobs *jobs, struct activator *loop,
                                  const struct channel_port *port);

/* The rest on the loop's thread. */
struct slab *channel_cells(struct jobs_channel *ch); /* for operation_new() */
void channel_give(struct jobs_channel *ch, struct operation *op);
/* Nobody waits for the operation any more.  Once, and before it came back. */
void channel_drop(struct jobs_channel *ch, struct operation *op);

/* --- The jobs' side: on their thread --- */

typedef void served_fn(struct jobs *jobs);
/* Serves operations that came, and calls `served` after each.  True: nothing is left. */
bool channels_take(struct jobs *jobs, served_fn *served);

void channel_return(struct operation *op); /* with its reply; it is the loop's then */
/* Something for an operation that stays open; freed by the loop. */
void channel_push(struct operation *op, struct operation_push *push);

/* On the loops' behalf, when they do not run any more: all that is on its way is handed over, and
 * operations that were not served yet are answered DRAINING. */
void channels_flush(struct jobs *jobs);
void channels_free(struct jobs *jobs);

#endif
