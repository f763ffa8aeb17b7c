#include "server/runtime/threads/mpsc.h"

void mpsc_init(struct mpsc *q)
{
    atomic_init(&q->top, NULL);
}

bool mpsc_push(struct mpsc *q, struct mpsc_item *item)
{
    struct mpsc_item *top = atomic_load_explicit(&q->top, memory_order_relaxed);
    do {
        item->next = top;
        /* Release: the item before the pointer to it.  Pairs with the acquire exchange in
         * mpsc_take().  Only the taker follows `next`, and it takes all items at once, so an item
         * that left and came back (ABA) does no harm. */
    } while (!atomic_compare_exchange_weak_explicit(&q->top, &top, item, memory_order_release,
                                                    memory_order_relaxed));
    return top == NULL;
}

static struct mpsc_item *oldest_first(struct mpsc_item *item)
{
    struct mpsc_item *done = NULL;
    while (item) {
        struct mpsc_item *next = item->next;
        item->next = done;
        done = item;
        item = next;
    }
    return done;
}

struct mpsc_item *mpsc_take(struct mpsc *q)
{
    if (mpsc_empty(q))
        return NULL;
    /* Acquire: pairs with the release in mpsc_push(), of every item through the chain of
     * read-modify-writes. */
    return oldest_first(atomic_exchange_explicit(&q->top, NULL, memory_order_acquire));
}

struct mpsc_item *mpsc_next(struct mpsc *q, struct mpsc_item **rest)
{
    struct mpsc_item *item = *rest ? *rest : mpsc_take(q);
    if (item)
        *rest = item->next;
    return item;
}

bool mpsc_empty(struct mpsc *q)
{
    /* Relaxed: the exchange in mpsc_take() orders; a sleeper looks after the fence of its waker. */
    return atomic_load_explicit(&q->top, memory_order_relaxed) == NULL;
}
