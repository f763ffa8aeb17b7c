/* Events as notifications, packed once for all watchers that stand at the same place of a history.
 *
 * A watcher that falls behind gets more events in a batch, and never more than one batch at a time:
 * what it has not got stands in the history alone, which is bounded.
 *
 * Thread: the jobs'; a batch itself is shared with the loops. */
#ifndef ERGON_JOBS_WATCH_H
#define ERGON_JOBS_WATCH_H

#include <stdint.h>

struct blob;
struct job;
struct jobs;

enum {
    EVENT_BATCH_BYTES = 16 * 1024, /* a batch is not longer, unless it holds a single event */
    EVENT_BATCHES = 8              /* that are remembered */
};

struct event_batch {
    uint64_t id;         /* of the job */
    uint32_t from, next; /* numbers: of the first event, of what comes behind the last */
    struct blob *events; /* a reference; NULL: none */
};

/* Zeroed. */
struct event_batches {
    struct event_batch batches[EVENT_BATCHES];
};

/* Notifications [2, "task.event", [id, event]] of the events from `from` on, borrowed until the
 * next call; `next` is where the next batch begins.  NULL: there are none, or no memory. */
struct blob *event_batches_get(struct jobs *jobs, struct job *job, uint32_t from, uint32_t *next);

void event_batches_fini(struct event_batches *all);

#endif
