/* Operations that are to be served, in lines by principal, first in, first out; the lines take
 * turns.
 *
 * A turn is so much work and not so many operations (deficit round robin; Shreedhar and Varghese,
 * "Efficient fair queuing using deficit round-robin", 1996): so who comes with one operation waits
 * for one turn of each other principal, however many those have here and whatever these cost.
 *
 * Thread: the jobs'.  An item that is put in is the line's until it is taken. */
#ifndef ERGON_JOBS_TURNS_H
#define ERGON_JOBS_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct operation_item;

enum { TURN_WORK = 500 /* pieces as jobs_worked() counts: some 50 us */ };

struct turn_line {
    struct operation_item *first, *last; /* linked by next */
    uint32_t next;                       /* in the row of those that are not empty */
    int32_t left;                        /* work of its turn; less than 0: of the next one, too */
    bool waits;                          /* it stands in the row */
};

/* Zeroed to begin with.  Line 0 is there without memory. */
struct turns {
    struct turn_line nobody;
    struct turn_line *lines; /* those from 1 */
    uint32_t room;
    uint32_t first, last; /* of the row; while it is not empty */
    uint32_t waiting;     /* lines in the row */
};

void turns_fini(struct turns *t); /* it is empty */

/* At the end of a line.  Returns which that was: the one that was asked for, or 0 where there is no
 * memory for it. */
uint32_t turns_push(struct turns *t, uint32_t line, struct operation_item *item);

/* The first item of the line whose turn it is; NULL: there is none.  Before the next one is taken,
 * turns_charge() says what it cost. */
struct operation_item *turns_take(struct turns *t);
/* What was taken last is not done: it is the first of its line again.  Before it is charged. */
void turns_put_back(struct turns *t, struct operation_item *item);
void turns_charge(struct turns *t, uint32_t work); /* in the same pieces */

/* The first item of each line is given to `takes`, and those for which that is true are out. */
void turns_sift(struct turns *t, bool (*takes)(void *arg, struct operation_item *item), void *arg);

bool turns_empty(const struct turns *t);

#endif
