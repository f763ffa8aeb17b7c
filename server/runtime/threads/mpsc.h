/* Intrusive list that any thread may push to and one thread takes whole: for outside threads, which
 * own no lane.  Nothing fails; an item is the list's from push to take. */
#ifndef ERGON_RUNTIME_MPSC_H
#define ERGON_RUNTIME_MPSC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct mpsc_item {
    struct mpsc_item *next; /* private while inside; the taker's afterwards */
};

struct mpsc {
    _Atomic(struct mpsc_item *) top;
};

void mpsc_init(struct mpsc *q);
bool mpsc_push(struct mpsc *q, struct mpsc_item *item); /* any thread; true when it was empty */

/* Consumer: all items, oldest first, linked by `next`; NULL when it is empty.  Of two who take at
 * once each gets what the other does not. */
struct mpsc_item *mpsc_take(struct mpsc *q);
bool mpsc_empty(struct mpsc *q); /* any thread */

/* Consumer, who does not want them all at once: the next item, or NULL.  `rest` is the consumer's,
 * and has what was taken before; the item is out of it, and may be pushed again. */
struct mpsc_item *mpsc_next(struct mpsc *q, struct mpsc_item **rest);

#endif
