#include "server/runtime/threads/lane.h"

#include <assert.h>

#include "server/runtime/object/object.h"
#include "server/runtime/round.h"
#include "server/runtime/thread_locals.h"

/* A receiver on the producer's activator is stepped next once so many items are staged for it: they
 * are still in the caches, and enough to be worth a step. */
enum { RUN_NEXT_ITEMS = 16 };

static int init(struct lane *l, uint32_t capacity, struct activator *producer)
{
    *l = (struct lane){.producer = producer};
    return ring_init(&l->ring, capacity);
}

int lane_init(struct lane *l, uint32_t capacity, struct activator *producer, struct ao *receiver)
{
    if (init(l, capacity, producer) != 0)
        return -1;
    struct activator *home = receiver->home;
    l->receiver = receiver;
    l->consumer = home;
    l->waker = &home->waker;
    STAILQ_INSERT_TAIL(&home->inlets, l, inlet_link);
    return 0;
}

int lane_init_thread(struct lane *l, uint32_t capacity, struct activator *producer,
                     struct waker *waker)
{
    if (init(l, capacity, producer) != 0)
        return -1;
    l->waker = waker;
    return 0;
}

/* True: the receiver is on the producer's activator. */
static bool is_own(const struct lane *l)
{
    return l->producer && l->waker == &l->producer->waker;
}

/* A closed activator has removed the lane from its lists already. */
void lane_fini(struct lane *l)
{
    if (l->consumer)
        STAILQ_REMOVE(&l->consumer->inlets, l, lane, inlet_link);
    if (l->dirty)
        STAILQ_REMOVE(&l->producer->dirty, l, lane, dirty_link);
    if (l->dirty && is_own(l))
        SLIST_REMOVE(&l->producer->local, l, lane, local_link);
    ring_fini(&l->ring);
}

#ifndef NDEBUG
/* Relaxed: the right thread reads what it wrote itself. */
static bool is_only(_Atomic(const void *) *seen)
{
    const void *was = NULL, *here = thread_identity();
    return atomic_compare_exchange_strong_explicit(seen, &was, here, memory_order_relaxed,
                                                   memory_order_relaxed) ||
           was == here;
}

void lane_assert_producer(struct lane *l)
{
    assert(l->producer ? activator_owned(l->producer) : is_only(&l->pusher));
}

void lane_assert_consumer(struct lane *l)
{
    assert(l->receiver ? !l->consumer || activator_owned(l->consumer) : is_only(&l->taker));
}

void lane_threads_ended(struct lane *l)
{
    atomic_store_explicit(&l->pusher, NULL, memory_order_relaxed);
    atomic_store_explicit(&l->taker, NULL, memory_order_relaxed);
}
#endif

void lane_mark_dirty(struct lane *l)
{
    struct activator *producer = l->producer;
    if (!producer || l->dirty)
        return;
    activator_assert_owner(producer);
    l->dirty = true;
    STAILQ_INSERT_TAIL(&producer->dirty, l, dirty_link);
    if (is_own(l))
        SLIST_INSERT_HEAD(&producer->local, l, local_link);
}

void lane_overflow(struct lane *l, struct lane_item *item)
{
    item->next = NULL;
    if (l->overflow_first)
        l->overflow_last->next = item;
    else
        l->overflow_first = item;
    l->overflow_last = item;
}

/* `next` is read before the item is staged: the consumer owns the item once it is published. */
static void stage_overflow(struct lane *l)
{
    while (l->overflow_first) {
        struct lane_item *next = l->overflow_first->next;
        if (!ring_stage(&l->ring, l->overflow_first))
            return;
        l->overflow_first = next;
    }
}

static bool publish(struct lane *l)
{
    stage_overflow(l);
    return ring_flush(&l->ring);
}

/* A receiver on the producer's activator needs no wake: the next round checks the inlets. */
bool lane_flush(struct lane *l)
{
    if (publish(l) && !is_own(l) && waker_notify(l->waker) && l->producer)
        counter_add(&l->producer->counters.wakes_sent, 1);
    return !l->overflow_first;
}

struct lane_item *lane_take(struct lane *l)
{
    lane_assert_consumer(l);
    return ring_take(&l->ring);
}

struct lane_item *lane_claim(struct lane *l)
{
    lane_assert_consumer(l);
    return ring_claim(&l->ring);
}

/* Cuts off and returns all items of the overflow but the first `keep`. */
static struct lane_item *cut_overflow(struct lane *l, uint32_t keep)
{
    struct lane_item *last = NULL, *rest = l->overflow_first;
    for (; keep > 0; keep--) {
        last = rest;
        rest = rest->next;
    }
    if (last)
        last->next = NULL;
    else
        l->overflow_first = NULL;
    l->overflow_last = last;
    return rest;
}

struct lane_item *lane_take_back(struct lane *l, uint32_t most)
{
    uint32_t count = 0;
    lane_assert_producer(l);
    for (const struct lane_item *i = l->overflow_first; i; i = i->next)
        count++;
    if (count >= most)
        return cut_overflow(l, count - most);
    struct lane_item *list = cut_overflow(l, 0);
    for (uint32_t n = 0; n < ring_used(&l->ring) && count < most; n++) {
        struct lane_item *item = ring_take_back(&l->ring, n);
        if (!item)
            continue;
        item->next = list;
        list = item;
        count++;
    }
    return list;
}

void lane_release(struct lane *l)
{
    ring_release(&l->ring);
}

bool lane_ready(struct lane *l)
{
    return ring_ready(&l->ring);
}

/* The items of a faulted or retired receiver stay in the lane; its owner drains the lane when it
 * resets or replaces the receiver. */
static bool wants_look(struct lane *l)
{
    const struct ao *receiver = l->receiver;
    return receiver->state != AO_STATE_FAULTED && !(receiver->flags & AO_FLAG_RETIRED) &&
           ring_ready(&l->ring);
}

void lanes_look(struct activator *a)
{
    struct lane *l;
    STAILQ_FOREACH(l, &a->inlets, inlet_link)
    if (wants_look(l))
        object_message(l->receiver);
}

bool lanes_ready(struct activator *a)
{
    struct lane *l;
    STAILQ_FOREACH(l, &a->inlets, inlet_link)
    if (wants_look(l))
        return true;
    return false;
}

/* After all other objects were stepped, one item is enough. */
static bool may_run_next(const struct activator *a, const struct lane *l)
{
    uint32_t least = dispatcher_at_end(&a->dispatcher) ? 1 : RUN_NEXT_ITEMS;
    return a->dispatcher.out_of_turn < OUT_OF_TURN_MAX &&
           (l->overflow_first || ring_staged(&l->ring) >= least);
}

void lanes_run_next(struct activator *a)
{
    struct lane *l;
    SLIST_FOREACH(l, &a->local, local_link)
    if (may_run_next(a, l) && publish(l) && wants_look(l) && object_message(l->receiver) == 0)
        dispatcher_run_next(&a->dispatcher, l->receiver);
}

void lanes_flush(struct activator *a)
{
    struct lane *l = STAILQ_FIRST(&a->dirty), *next;
    STAILQ_INIT(&a->dirty);
    SLIST_INIT(&a->local);
    for (; l; l = next) {
        next = STAILQ_NEXT(l, dirty_link);
        l->dirty = false;
        if (!lane_flush(l))
            lane_mark_dirty(l);
    }
}

void lanes_init(struct activator *a)
{
    STAILQ_INIT(&a->inlets);
    STAILQ_INIT(&a->dirty);
    SLIST_INIT(&a->local);
}

void lanes_forget(struct activator *a)
{
    struct lane *l;
    STAILQ_FOREACH(l, &a->inlets, inlet_link)
    l->consumer = NULL;
    STAILQ_FOREACH(l, &a->dirty, dirty_link)
    l->dirty = false;
    lanes_init(a);
}
