/* A lane: hands items over, one way, from one activator (or plain thread) to an object of another
 * activator.
 *
 * It consists of a ring, the object that takes the items, and the waker of its thread.  After
 * lane_push() the producer must not touch the item.  Items are staged, and published once a round.
 * A full ring never refuses an item: the surplus waits in a list on the producer's side, and
 * follows in order as slots become free (meanwhile the producer's activator does not block).
 * Producer and consumer may be objects of the same activator.
 *
 * Thread: one thread pushes and flushes, one takes and releases; each function says which.  The
 * lane borrows the items that are inside; receiver, activators and waker outlive it. */
#ifndef ERGON_RUNTIME_LANE_H
#define ERGON_RUNTIME_LANE_H

#include <ergon/activator.h>

#include "base/list.h"
#include "server/runtime/threads/ring.h"
#include "server/runtime/threads/waker.h"

/* Embed it in the item. */
struct lane_item {
    struct lane_item *next; /* the producer's overflow list; the list of lane_take_back() */
};

struct lane {
    struct ring ring;

    /* Producer's side. */
    alignas(CACHE_LINE) struct activator *producer; /* NULL: a plain thread */
    STAILQ_ENTRY(lane) dirty_link; /* lanes to flush at the round's end; while `dirty` */
    SLIST_ENTRY(lane) local_link; /* dirty lanes whose receiver lives on the producer's activator */
    struct lane_item *overflow_first, *overflow_last;
    bool dirty;

    /* Consumer's side. */
    alignas(CACHE_LINE) struct ao *receiver; /* NULL: a plain thread takes the items */
    struct activator *consumer;    /* of the receiver; NULL: a plain thread, or it was closed */
    STAILQ_ENTRY(lane) inlet_link; /* lanes that the consumer's activator checks */
    struct waker *waker;           /* wakes the consumer's thread */

#ifndef NDEBUG
    /* The plain threads that used its ends (thread_identity()); NULL: none yet. */
    _Atomic(const void *) pusher, taker;
#endif
};

/* Call it before the threads start.  `receiver` determines the consumer's activator and waker; it
 * must exist until lane_fini(), or until its activator is closed.  0, or -1 without memory. */
int lane_init(struct lane *l, uint32_t capacity, struct activator *producer, struct ao *receiver);

/* The same for a consumer that is a plain thread, with a waker of its own (borrowed).  0, or -1
 * without memory. */
int lane_init_thread(struct lane *l, uint32_t capacity, struct activator *producer,
                     struct waker *waker);

/* Call it after both threads have ended, and after lane_take() of all items inside. */
void lane_fini(struct lane *l);

/* Parts of lane_push(): for a full ring; for a lane that must be flushed. */
void lane_overflow(struct lane *l, struct lane_item *item);
void lane_mark_dirty(struct lane *l);

/* Producer: publishes the staged items and wakes the consumer.  An activator calls it at the end of
 * each round; a plain thread has to call it.  False: overflow remains. */
bool lane_flush(struct lane *l);

struct lane_item *lane_take(struct lane *l); /* consumer; NULL: it is empty */
void lane_release(struct lane *l);           /* consumer, after a batch: gives slots back */
bool lane_ready(struct lane *l);             /* consumer; true: it has an item */

/* For a lane whose producer takes items back.  The consumer claims an item instead of taking it, so
 * that only one of the two has it; NULL: there is none, even if lane_ready() was true.  The
 * producer takes back the last items that were not claimed, published or not: at most `most`,
 * oldest first, linked by `next`. */
struct lane_item *lane_claim(struct lane *l);
struct lane_item *lane_take_back(struct lane *l, uint32_t most);

/* Asserts in test builds that the calling thread may use this end: it runs the activator there, or
 * is the only plain thread that ever used it.  If no thread runs the activator, any thread may. */
#ifndef NDEBUG
void lane_assert_producer(struct lane *l);
void lane_assert_consumer(struct lane *l);
/* The plain threads of this lane have ended; another one may drain it. */
void lane_threads_ended(struct lane *l);
#else
#define lane_assert_producer(l) ((void)(l))
#define lane_assert_consumer(l) ((void)(l))
#define lane_threads_ended(l)   ((void)(l))
#endif

/* Producer: gives the item away; never fails.  Inline, since each task passes two lanes. */
static inline void lane_push(struct lane *l, struct lane_item *item)
{
    lane_assert_producer(l);
    if (l->overflow_first || !ring_stage(&l->ring, item))
        lane_overflow(l, item);
    if (!l->dirty)
        lane_mark_dirty(l);
}

#endif
