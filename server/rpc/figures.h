/* The last ten minutes of the server's figures, a sample a second, which server.figures answers.
 *
 * The main thread takes the samples, whether anybody looks or not.  It reads what the rooms publish
 * for any thread, so no loop waits, and an idle server has this one wake-up a second.  Loops read
 * the samples without a lock: a sample is published when it is complete, and a row is written anew
 * 40 s after the last time at which a reader may begin with it.
 *
 * All memory is taken at the start: less than 2 MiB, of which the machine gives what is in use. */
#ifndef ERGON_RPC_FIGURES_H
#define ERGON_RPC_FIGURES_H

#include "server/rpc/rpc.h"

enum {
    FIGURES_KEPT = 600, /* samples that are answered */
    /* How many queues, handlers and executors have series of their own: the first that had work.
     * One that had none for ten minutes gives its place to another that has some at a sample. */
    FIGURES_QUEUES = 32,
    FIGURES_HANDLERS = 32,
    FIGURES_EXECUTORS = 32
};

struct figures;

/* Set-up; `shared` is borrowed, and complete when the first sample is taken.  NULL without memory.
 */
struct figures *figures_new(const struct rpc_shared *shared);
void figures_free(struct figures *f); /* when no thread runs; NULL is fine */

/* The main thread: takes a sample if one is due at `now` (ns of a monotonic clock; `wall` is Unix
 * ns), and returns how long it is until the next.  Seconds that were missed have no values. */
ao_time figures_look(struct figures *f, ao_time now, uint64_t wall);

#endif
