/* Operations that wait to be served: a first-in, first-out queue for each principal.  The queues
 * take turns.
 *
 * A turn is a quantum of work, not a number of operations (deficit round robin; Shreedhar and
 * Varghese, "Efficient fair queuing using deficit round-robin", 1996).  So a principal with a
 * single operation waits for at most one turn of each other principal, however many operations
 * those have and whatever they cost.
 *
 * Thread: the jobs'.  A queue owns an item from turns_push() until turns_take(). */
#ifndef ERGON_JOBS_TURNS_H
#define ERGON_JOBS_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct operation_item;

enum { TURN_WORK = 500 /* pieces as jobs_worked() counts: some 50 us */ };

struct turn_queue {
    struct operation_item *first, *last; /* linked by next */
    uint32_t next;                       /* the queue whose turn follows; while `waits` */
    int32_t left;                        /* work left of its turn; below 0: a debt */
    bool waits;                          /* it has items, and so it takes turns */
};

/* Begins zeroed.  Queue 0 needs no memory. */
struct turns {
    struct turn_queue shared;  /* queue 0 */
    struct turn_queue *queues; /* the queues from 1 on */
    uint32_t room;
    uint32_t first, last; /* queues that take turns; valid while there are any */
    uint32_t waiting;     /* number of queues that take turns */
};

void turns_fini(struct turns *t); /* all queues are empty */

/* Appends an item to a queue, or to queue 0 where there is no memory for that one.  Returns
 * which of the two it was. */
uint32_t turns_push(struct turns *t, uint32_t queue, struct operation_item *item);

/* Takes the first item of the queue whose turn it is; NULL: all are empty.  After each item the
 * caller charges its cost, before it takes the next. */
struct operation_item *turns_take(struct turns *t);
/* The item behind the one that was taken last, in its queue; NULL: there is none. */
struct operation_item *turns_next(struct turns *t);
/* Makes the item that was taken last the first of its queue again, since it is not done; before it
 * is charged. */
void turns_put_back(struct turns *t, struct operation_item *item);
void turns_charge(struct turns *t, uint32_t work); /* in pieces, as TURN_WORK */

/* Offers the first item of each queue to `takes`, and removes those for which it returns true. */
void turns_sift(struct turns *t, bool (*takes)(void *arg, struct operation_item *item), void *arg);

bool turns_empty(const struct turns *t);

#endif
