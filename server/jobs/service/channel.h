/* A loop's channel to the jobs: two lanes, and on the loop an object that takes what comes back.
 *
 * An operation goes in and comes back once.  One that is dropped is followed by its drop, which
 * comes back too; the loop gets the operation when both have, for then nothing refers to it.
 *
 * Thread: the loop's or the jobs', as the headings say.  The channels are the jobs'; an operation
 * is the jobs' from channel_give() until it came back. Nothing here fails but channel_open(). */
#ifndef ERGON_JOBS_CHANNEL_H
#define ERGON_JOBS_CHANNEL_H

#include "server/jobs/service/operation.h"

/* What a loop does with what comes back, called on the loop's thread; the operation is the loop's
 * then.  For an operation that was dropped `answered` is called once, when nothing refers to it any
 * more.  `pushed`: op->push came; who keeps its events takes a reference of its own, and the next
 * push comes when this one has returned. */
struct channel_port {
    void (*answered)(void *arg, struct operation *op);
    void (*pushed)(void *arg, struct operation *op);
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
/* Serves operations that came, while there is time in this step, and calls `served` after each.
 * Principals take turns, over all channels (turns.h).  True: nothing is left. */
bool channels_take(struct jobs *jobs, served_fn *served);

/* The jobs stop: what is served in parts, and has begun, is served to its end. */
void channels_complete(struct jobs *jobs);

struct jobs *channel_jobs(const struct jobs_channel *ch);
void channel_return(struct operation *op); /* with its reply; it is the loop's then */
/* Sends op->push, of an operation that stays open.  It may be answered when its `push_taken` was
 * called; a dropped one at once. */
void channel_push(struct operation *op);

/* On the loops' behalf, when they do not run any more: all that is on its way is handed over, and
 * operations that were not served yet are answered DRAINING. */
void channels_flush(struct jobs *jobs);
void channels_free(struct jobs *jobs);

#endif
