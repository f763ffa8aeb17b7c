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

static struct fifo *fifo_of(struct queue *q, const struct task *t)
{
    return t->depth > 0 ? &q->nested : &q->plain;
}

void queue_push(struct queue *q, struct task *t)
{
    append(fifo_of(q, t), t);
    q->length++;
}

void queue_push_front(struct queue *q, struct task *t)
{
    struct fifo *f = fifo_of(q, t);
    if (!f->first)
        f->last = t;
    t->next = f->first;
    f->first = t;
    q->length++;
}

struct task *queue_nested(const struct queue *q)
{
    return q->nested.first;
}

struct task *queue_first(const struct queue *q)
{
    return q->nested.first ? q->nested.first : q->plain.first;
}

struct task *queue_pop(struct queue *q)
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

struct task *queue_sweep(struct queue *q)
{
    struct fifo out = {0};
    sweep(&q->nested, &out);
    sweep(&q->plain, &out);
    for (const struct task *t = out.first; t; t = t->next)
        q->length--;
    return out.first;
}
