/* The waiting tasks of one kind of executor: first in, first out, nested calls before the others
 * since somebody who holds an executor waits for them.
 *
 * Thread: the manager's.  A task that is pushed is the queue's, one that is taken out the caller's;
 * nothing fails. */
#ifndef ERGON_TASKS_TASK_QUEUE_H
#define ERGON_TASKS_TASK_QUEUE_H

#include "server/tasks/task.h"

struct fifo {
    struct task *first, *last; /* linked by next */
};

struct task_queue {
    struct fifo nested, plain;
    uint32_t length;
};

void task_queue_push(struct task_queue *q, struct task *t);
void task_queue_push_front(struct task_queue *q, struct task *t); /* one that was given back */

/* The next, which stays, or is taken out; NULL: the queue is empty. */
struct task *task_queue_first(const struct task_queue *q);
struct task *task_queue_pop(struct task_queue *q);

/* Takes all flagged tasks out, in order, linked by next; NULL: there was none. */
struct task *task_queue_sweep(struct task_queue *q);

#endif
