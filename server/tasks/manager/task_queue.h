/* The waiting tasks of one pool. Nested calls are first, since a task that has an executor waits
 * for them; then what an executor gave back; then the plain ones, of which each principal has a
 * line, first in, first out, and the lines take turns.
 *
 * Turns are by time and not by number: a task costs its line the mean time of service of its
 * method, and the next is taken from the line to which the least has been given (start-time fair
 * queueing; Goyal, Vin and Cheng, 1996). So a task waits behind one task of each other principal,
 * however many these have here, and a principal with long tasks gets no more time than one with
 * brief tasks. A nested call goes before the lines, and the line of its principal pays for it. A
 * line that was empty begins where the others are: it saves up no time, and has no debt greater
 * than its last task. Tasks without a principal are one line together.
 *
 * A principal without a line, for want of memory, shares that line.
 *
 * The lines are in a heap of this file's own, not in base/pairing_heap.h. It holds indexes, so the
 * array of lines may move as it grows; what is set aside is behind it in the same memory, and all
 * can be looked at by number. And it costs less where it matters: to take the first task and give
 * its line its next turn takes, in user instructions, own heap : pairing heap, 57 : 52 with one
 * line, 142 : 183 with four, 234 : 305 with 16, 339 : 345 with 64, 561 : 487 with a thousand. A
 * call by way of the manager takes 3,643 in all, so the other would cost 1 to 2 % where some
 * principals are there at once.
 *
 * Thread: the manager's. A task that is pushed is the queue's, one that is taken out the caller's;
 * nothing fails. */
#ifndef ERGON_TASKS_TASK_QUEUE_H
#define ERGON_TASKS_TASK_QUEUE_H

#include "server/tasks/task.h"

struct fifo {
    struct task *first, *last; /* linked by next */
};

/* One after the other. `kept` is in front of the rest: it was put there, or a sweep has looked at
 * it. */
struct task_row {
    struct fifo kept, rest;
    uint32_t length;
    uint32_t left; /* of the rest, that the sweep has to look at */
};

/* Of one principal. */
struct task_line {
    struct task_row tasks;
    const struct account *whose; /* never looked into: the account may be gone */
    uint64_t start;              /* of its first task, in virtual time, ns */
    uint64_t finish;             /* of its last one that was taken */
    uint64_t debt;               /* ns of nested calls that went before its first */
    uint64_t order;              /* among lines with the same start */
};

struct task_queue {
    struct task_row nested, again;
    struct task_line nobody;
    struct task_line *lines; /* by the account's index */
    /* Indexes of the lines that are not empty: a heap by start; behind it are those that were set
     * aside. */
    uint32_t *heap;
    uint32_t line_room, heap_count, aside;
    bool again_aside, nobody_aside;
    bool sweep_inside;   /* it has begun with what it is at */
    uint32_t sweep_next; /* what it is at: SWEEP_NONE, or see task_queue.c */
    uint64_t now;        /* virtual time: the start of what was taken last */
    uint64_t orders;
    uint32_t length;
};

void task_queue_fini(struct task_queue *q); /* of an empty one */

void task_queue_push(struct task_queue *q, struct task *t);
void task_queue_push_front(struct task_queue *q, struct task *t); /* one that was given back */

/* The next, which stays, or is taken out; NULL: the queue is empty, or the rest set aside. */
struct task *task_queue_first(const struct task_queue *q);
struct task *task_queue_pop(struct task_queue *q);

/* The first task of one of the lines that wait, by a number from 0, in no order; NULL: there are no
 * more. */
const struct task *task_queue_look(const struct task_queue *q, uint32_t n);

/* The line of the next task, which is not a nested call, has no turn until all are back. */
void task_queue_set_aside(struct task_queue *q);
void task_queue_bring_back(struct task_queue *q);

/* A sweep takes out the flagged ones of the tasks that are here as it begins, step by step, while
 * others come and go. A second begin does nothing while one is under way. Lines that are set aside
 * stay so.
 *
 * A step looks at `most` tasks or lines and returns what it took out, in order, linked by next. */
void task_queue_begin_sweep(struct task_queue *q);
bool task_queue_sweeping(const struct task_queue *q);
struct task *task_queue_sweep(struct task_queue *q, uint32_t most);

#endif
