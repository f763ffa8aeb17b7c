/* Batches of events, packed as notifications once for all watchers that have read equally far.
 *
 * A watcher that falls behind gets more events in a batch, and never more than one batch at a time:
 * the history, which is bounded, is the only buffer of the events that it has not got.
 *
 * Thread: the jobs'; the bytes of a batch are shared with the loops. */
#ifndef ERGON_JOBS_WATCH_H
#define ERGON_JOBS_WATCH_H

#include <stdint.h>

struct blob;
struct job;
struct jobs;

enum {
    EVENT_BATCH_BYTES = 16 * 1024, /* a batch is not longer, unless it holds a single event */
    EVENT_BATCHES = 8              /* batches that are cached */
};

struct event_batch {
    uint64_t id;         /* of the job */
    uint32_t from, next; /* the number of the first event; the last one's plus 1 */
    unsigned sees;       /* of enum operation_sight: what its readers may see */
    struct blob *events; /* a reference; NULL: none */
};

/* The cache; begins zeroed. */
struct event_batches {
    struct event_batch batches[EVENT_BATCHES];
};

/* Returns notifications [2, "task.event", [id, event]] of the events from `from` on, borrowed until
 * the next call, and sets `next` to where the next batch begins; `sees` of enum operation_sight.
 * NULL: no events, or no memory. */
struct blob *event_batches_get(struct jobs *jobs, struct job *job, uint32_t from, unsigned sees,
                               uint32_t *next);

struct event_batches *jobs_event_batches(struct jobs *jobs);
void event_batches_fini(struct event_batches *all);

#endif
