/* An intrusive list to which any thread may push and from which one thread takes all items; for
 * threads that have no lane.  Nothing fails; the list owns an item from push to take. */
#ifndef ERGON_RUNTIME_MPSC_H
#define ERGON_RUNTIME_MPSC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct mpsc_item {
    struct mpsc_item *next; /* private while inside; for the taker afterwards */
};

struct mpsc {
    _Atomic(struct mpsc_item *) top;
};

void mpsc_init(struct mpsc *q);
bool mpsc_push(struct mpsc *q, struct mpsc_item *item); /* any thread; true: the list was empty */

/* Consumer: takes all items, oldest first, linked by `next`; NULL: the list is empty.  Of two
 * threads that take at the same time, each gets the items that the other does not. */
struct mpsc_item *mpsc_take(struct mpsc *q);
bool mpsc_empty(struct mpsc *q); /* any thread */

/* Consumer: takes one item, or returns NULL.  `rest` belongs to the consumer, and holds the items
 * that were taken from the list already; the returned item is in neither, and may be pushed again.
 */
struct mpsc_item *mpsc_next(struct mpsc *q, struct mpsc_item **rest);

#endif
