/* A lane: the one-way hand-over from one activator (or plain thread) to an object of another
 * activator.
 *
 * A ring, the object that takes the items, and the way to wake its thread.  Pushing is giving:
 * after lane_push() the producer does not touch the item.  Items are staged and published once a
 * round; a ring that is full never refuses: the rest waits in a list on the producer's side and
 * follows, in order, as slots come free (meanwhile the producer's activator does not block).
 * Producer and consumer may be objects of the same activator.
 *
 * Thread: one pushes and flushes, one takes and releases; each function says which.  Ownership: the
 * lane borrows items while they are inside; receiver, activators and waker outlive it. */
#ifndef ERGON_RUNTIME_LANE_H
#define ERGON_RUNTIME_LANE_H

#include <ergon/activator.h>

#include "base/list.h"
#include "server/runtime/threads/ring.h"
#include "server/runtime/threads/waker.h"

/* Embed in what travels. */
struct lane_item {
    struct lane_item *next; /* the producer's overflow list; the list of lane_take_back() */
};

struct lane {
    struct ring ring;

    /* Producer's side. */
    alignas(CACHE_LINE) struct activator *producer; /* NULL: a plain thread */
    STAILQ_ENTRY(lane) dirty_link; /* of lanes to flush at the round's end; while `dirty` */
    SLIST_ENTRY(lane) local_link;  /* of those whose receiver lives on the producer's activator */
    struct lane_item *overflow_first, *overflow_last;
    bool dirty;

    /* Consumer's side. */
    alignas(CACHE_LINE) struct ao *receiver; /* NULL: a plain thread takes the items */
    struct activator *consumer;    /* the receiver's; NULL: a plain thread, or it was closed */
    STAILQ_ENTRY(lane) inlet_link; /* of the lanes that the consumer's activator looks at */
    struct waker *waker;           /* wakes the consumer's thread */

#ifndef NDEBUG
    /* The plain threads that were seen at its ends, by an address of their own; NULL: none yet. */
    _Atomic(const void *) pusher, taker;
#endif
};

/* Before the threads start.  `receiver` gives the consumer's activator and waker; it stands until
 * lane_fini(), or until its activator is closed.  0 or -1 without memory. */
int lane_init(struct lane *l, uint32_t capacity, struct activator *producer, struct ao *receiver);

/* For a consumer that is a plain thread with a waker of its own (borrowed).  0 or -1 without
 * memory. */
int lane_init_thread(struct lane *l, uint32_t capacity, struct activator *producer,
                     struct waker *waker);

/* After both threads have ended.  Items still inside are the caller's: lane_take() them first. */
void lane_fini(struct lane *l);

/* Parts of lane_push(): the ring is full; it is to be flushed. */
void lane_overflow(struct lane *l, struct lane_item *item);
void lane_mark_dirty(struct lane *l);

/* Producer: publishes what is staged and wakes the consumer.  An activator does it at the end of
 * each round, a plain thread itself.  False: overflow remains. */
bool lane_flush(struct lane *l);

struct lane_item *lane_take(struct lane *l); /* consumer; NULL when empty */
void lane_release(struct lane *l);           /* consumer, after a batch: gives the slots back */
bool lane_ready(struct lane *l);             /* consumer: is there one to take? */

/* Of a lane whose producer takes items back: its consumer claims them instead of taking them
 * (NULL: there is none, though lane_ready() may have said so), and either has an item, never both.
 * Producer: the last of those that were not claimed, at most `most`, oldest first, linked by
 * `next`; they are the producer's again, published or not. */
struct lane_item *lane_claim(struct lane *l);
struct lane_item *lane_take_back(struct lane *l, uint32_t most);

/* Asserts in a test build that the calling thread is the one of this end: that of the activator
 * there, or the one plain thread that ever came.  At rest, an activator's end is anybody's. */
#ifndef NDEBUG
void lane_assert_producer(struct lane *l);
void lane_assert_consumer(struct lane *l);
/* The plain threads of this lane have ended: another may drain it. */
void lane_threads_ended(struct lane *l);
#else
#define lane_assert_producer(l) ((void)(l))
#define lane_assert_consumer(l) ((void)(l))
#define lane_threads_ended(l)   ((void)(l))
#endif

/* Producer; never fails, and the item is the consumer's.  Inline: it stands twice on the way of
 * each task. */
static inline void lane_push(struct lane *l, struct lane_item *item)
{
    lane_assert_producer(l);
    if (l->overflow_first || !ring_stage(&l->ring, item))
        lane_overflow(l, item);
    if (!l->dirty)
        lane_mark_dirty(l);
}

#endif
