/* Nested calls of blocking handlers. */
#include <stdlib.h>

#include "server/tasks/executors/blocking_parts.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/tasks_parts.h"

/* One call that waits on the executor's stack. */
struct blocking_frame {
    struct blocking_frame *outer;
    struct task *parent;
    struct task *child;
    bool back; /* the child is ours again */
};

void blocking_take_returns(struct blocking *b)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&b->returns); item; item = next) {
        next = item->next;
        struct task *t = ao_of(item, struct task, inbox);
        struct blocking_frame *f = b->frames;
        while (f && f->child != t)
            f = f->outer;
        if (f)
            f->back = true;
        else
            tasks_free_leftover(t);
    }
}

static void refuse(struct ergon_outcome *out, enum ergon_error error)
{
    *out = (struct ergon_outcome){.code = error_name(error), .text = error_meaning(error)};
}

static struct task *make_child(struct blocking *b, const struct task *parent, struct method *m,
                               struct span params)
{
    struct task *t = aligned_alloc(alignof(struct task), sizeof *t);
    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    task_begin(t, m, params, parent->deadline);
    task_mark(t, TASK_ALONE);
    t->caller = b;
    t->call_index = CALL_NONE;
    t->number = parent->number;
    t->chain = parent->chain;
    t->depth = (uint8_t)(parent->depth + 1);
    if (task_keep_params(t))
        return t;
    tasks_free_leftover(t);
    return NULL;
}

/* The door while a handler waits: see the head of executor_blocking.h.  One that runs others' calls
 * meanwhile waits already, and goes on to run them. */
static enum executor_accepting stop_accepting(struct blocking *b)
{
    struct executor *e = &b->base;
    uint8_t before = atomic_load_explicit(&e->accepting, memory_order_relaxed);
    if (before == ACCEPTS_ALL) {
        uint32_t waiting =
            atomic_fetch_add_explicit(&e->tasks->waiting, 1, memory_order_acq_rel) + 1;
        bool last = waiting == e->tasks->blocking_count;
        atomic_store_explicit(&e->accepting, last ? ACCEPTS_NESTED : ACCEPTS_NONE,
                              memory_order_relaxed);
    }
    executor_publish(e, 1);
    return (enum executor_accepting)before;
}

static void accept_again(struct blocking *b, enum executor_accepting before)
{
    struct executor *e = &b->base;
    executor_publish(e, -1);
    if (before != ACCEPTS_ALL)
        return;
    atomic_fetch_sub_explicit(&e->tasks->waiting, 1, memory_order_acq_rel);
    atomic_store_explicit(&e->accepting, ACCEPTS_ALL, memory_order_relaxed);
}

/* What stands in the lane: nested calls are run if this is the door for them. */
static void serve_lane(struct blocking *b)
{
    struct executor *e = &b->base;
    struct lane_item *item = lane_take(&e->in);
    lane_release(&e->in);
    if (!item)
        return;
    struct task *t = ao_of(item, struct task, item);
    bool here = atomic_load_explicit(&e->accepting, memory_order_relaxed) == ACCEPTS_NESTED;
    if (here && t->depth > 0)
        blocking_run(b, t);
    else
        executor_give_back(e, t);
}

static bool anything(struct blocking *b)
{
    return blocking_stopping(b) || !mpsc_empty(&b->returns) || lane_ready(&b->base.in) ||
           task_flagged(b->frames->parent);
}

/* Until the child is back, or nobody wants it any more: then the reason. */
static enum ergon_error await(struct blocking *b, struct blocking_frame *f)
{
    struct executor *e = &b->base;
    for (;;) {
        blocking_take_returns(b);
        if (f->back)
            return ERGON_OK;
        if (task_flagged(f->parent))
            return ERGON_E_CANCELLED;
        if (blocking_stopping(b))
            return ERGON_E_DRAINING;
        ao_time now = executor_clock(e);
        if (now >= f->parent->deadline)
            return ERGON_E_DEADLINE;
        if (lane_ready(&e->in))
            serve_lane(b);
        else
            blocking_sleep(b, anything,
                           f->parent->deadline == AO_NEVER ? AO_NEVER : f->parent->deadline - now);
    }
}

static void give_up(struct blocking *b, struct task *child)
{
    enum ergon_kind kind = child->method->handler->kind;
    atomic_fetch_or_explicit(&child->flags, TASK_GONE, memory_order_relaxed);
    tasks_notify(b->base.tasks, kind);
}

/* The outcome stays with the parent until its next call. */
static void keep_outcome(struct task *parent, struct task *child, struct ergon_outcome *out)
{
    struct outcome outcome;
    task_outcome(child, &outcome);
    outcome_keep(&outcome, &parent->nested_block, out);
    if (outcome.error == ERGON_OK)
        child->result_block = outcome.block;
}

static void call_and_wait(struct blocking *b, struct task *parent, struct task *child,
                          struct ergon_outcome *out)
{
    struct blocking_frame frame = {.outer = b->frames, .parent = parent, .child = child};
    b->frames = &frame;
    b->frame_count++;
    enum executor_accepting before = stop_accepting(b);
    manager_post(&b->base.tasks->manager, child);
    enum ergon_error error = await(b, &frame);
    accept_again(b, before);
    b->frames = frame.outer;
    b->frame_count--;
    if (error == ERGON_OK) {
        keep_outcome(parent, child, out);
        tasks_free_leftover(child);
        return;
    }
    give_up(b, child);
    refuse(out, error);
}

void blocking_call(struct blocking *b, struct task *parent, const char *method, struct span params,
                   struct ergon_outcome *out)
{
    struct tasks *tasks = b->base.tasks;
    struct method *m = registry_find(tasks->plan.registry, span_text(method));
    if (!m) {
        refuse(out, ERGON_E_NO_METHOD);
    } else if (parent->depth + 1 > TASK_DEPTH_MAX) {
        refuse(out, ERGON_E_TOO_DEEP);
    } else if (b->frame_count >= BLOCKING_FRAMES_MAX) {
        refuse(out, ERGON_E_BUSY);
    } else {
        struct task *child = make_child(b, parent, m, params);
        if (!child) {
            refuse(out, ERGON_E_MEMORY);
            return;
        }
        manager_admit(&tasks->manager, m->handler->kind, true);
        call_and_wait(b, parent, child, out);
    }
}
