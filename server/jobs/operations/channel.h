/* A loop's channel to the jobs' thread: a lane each way, and on the loop an object that takes what
 * comes back.
 *
 * Each operation goes to the jobs once and comes back once.  To drop an operation, the loop sends a
 * second item, the drop, which comes back too.  The operation's owner on the loop gets it when both
 * are back, since only then nothing refers to it.
 *
 * Thread: the heading above each group of functions says whether the loop or the jobs call them.
 * The jobs own the channels, and own an operation from channel_give() until it is back.  Only
 * channel_open() can fail. */
#ifndef ERGON_JOBS_CHANNEL_H
#define ERGON_JOBS_CHANNEL_H

#include "server/jobs/operations/operation.h"

/* The channel calls these on the loop's thread for what comes back.  `answered`: the operation is
 * the loop's again; for a dropped operation this is called once, when nothing refers to it any
 * more.  `pushed`: op->push has arrived; a callee that keeps its events takes a reference of its
 * own, and the next push comes only after this one has returned. */
struct channel_port {
    void (*answered)(void *arg, struct operation *op);
    void (*pushed)(void *arg, struct operation *op);
    void *arg;
};

/* --- The loop's side --- */

/* Before the threads start; freed by channels_free().  NULL without memory. */
struct jobs_channel *channel_open(struct jobs *jobs, struct activator *loop,
                                  const struct channel_port *port);

/* The rest is called on the loop's thread. */
struct slab *channel_cells(struct jobs_channel *ch); /* for operation_new() */
void channel_give(struct jobs_channel *ch, struct operation *op);
/* The loop no longer wants the answer.  Called at most once, and before the operation is back. */
void channel_drop(struct jobs_channel *ch, struct operation *op);

/* --- The jobs' side: on their thread --- */

typedef void served_fn(struct jobs *jobs);
/* Serves new operations while this step has time, and calls `served` after each.  Principals take
 * turns, over all channels (turns.h).  True: nothing is left. */
bool channels_take(struct jobs *jobs, served_fn *served);

/* The same, where each new operation is offered to `meets` first: true, it was answered there, or
 * postponed. */
typedef bool meets_fn(struct jobs *jobs, struct operation *op);
bool channels_meet(struct jobs *jobs, served_fn *served, meets_fn *meets);

/* From within `meets`: the operation is put aside, until channels_resume() puts all of them into
 * the queues again, in their order.  One that is dropped meanwhile is answered CANCELLED. */
void channel_postpone(struct jobs *jobs, struct operation *op);
void channels_resume(struct jobs *jobs);

/* Serves those operations to their end of which `serve_part` has done a part; when the jobs stop.
 */
void channels_complete(struct jobs *jobs);

/* `serve_part` returned true of the operation, which waited for something: it is served again. */
void channel_serve_again(struct jobs *jobs, struct operation *op);

struct jobs *channel_jobs(const struct jobs_channel *ch);
void channel_return(struct operation *op); /* with its reply; the loop owns it from then on */
/* Sends op->push of an operation that stays open.  The operation is answered only after its
 * `push_taken` was called, unless the loop dropped it. */
void channel_push(struct operation *op);

/* Hands over all that is on its way, and answers operations that were not served yet DRAINING.
 * Called in place of the loops, when they do not run any more. */
void channels_flush(struct jobs *jobs);
void channels_free(struct jobs *jobs);

#endif
