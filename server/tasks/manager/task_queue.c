#include "server/tasks/manager/task_queue.h"

static void append(struct fifo *f, struct task *t)
{
    t->next = NULL;
    if (f->first)
        f->last->next = t;
    else
        f->first = t;
    f->last = t;
}

static struct task *take(struct fifo *f)
{
    struct task *t = f->first;
    f->first = t->next;
    return t;
}

static struct fifo *fifo_of(struct task_queue *q, const struct task *t)
{
    return t->depth > 0 ? &q->nested : &q->plain;
}

void task_queue_push(struct task_queue *q, struct task *t)
{
    assert(t->owner == TASK_OF_MANAGER);
    append(fifo_of(q, t), t);
    q->length++;
}

void task_queue_push_front(struct task_queue *q, struct task *t)
{
    assert(t->owner == TASK_OF_MANAGER);
    struct fifo *f = fifo_of(q, t);
    if (!f->first)
        f->last = t;
    t->next = f->first;
    f->first = t;
    q->length++;
}

struct task *task_queue_first(const struct task_queue *q)
{
    return q->nested.first ? q->nested.first : q->plain.first;
}

struct task *task_queue_pop(struct task_queue *q)
{
    struct fifo *f = q->nested.first ? &q->nested : &q->plain;
    if (!f->first)
        return NULL;
    q->length--;
    return take(f);
}

static void sweep(struct fifo *f, struct fifo *out)
{
    struct fifo kept = {0};
    while (f->first) {
        struct task *t = take(f);
        append(task_flagged(t) ? out : &kept, t);
    }
    *f = kept;
}

struct task *task_queue_sweep(struct task_queue *q)
{
    struct fifo out = {0};
    sweep(&q->nested, &out);
    sweep(&q->plain, &out);
    for (const struct task *t = out.first; t; t = t->next)
        q->length--;
    return out.first;
}
