/* The waiting tasks of one kind of executor: first in, first out, nested calls before the others
 * since somebody who holds an executor waits for them.  Manager's thread. */
#ifndef ERGON_TASKS_QUEUE_H
#define ERGON_TASKS_QUEUE_H

#include "server/tasks/task.h"

struct fifo {
    struct task *first, *last; /* linked by next */
};

struct queue {
    struct fifo nested, plain;
    uint32_t length;
};

void queue_push(struct queue *q, struct task *t);
void queue_push_front(struct queue *q, struct task *t); /* one that was given back */
struct task *queue_nested(const struct queue *q);       /* the first nested one, or NULL */
struct task *queue_first(const struct queue *q);        /* NULL when empty */
struct task *queue_pop(struct queue *q);                /* what queue_first() shows */

/* Takes all flagged tasks out, in order, linked by next. */
struct task *queue_sweep(struct queue *q);

#endif
