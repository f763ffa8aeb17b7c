#include "server/tasks/executors/blocking.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "server/runtime/thread.h"
#include "server/tasks/calls/nested.h"
#include "server/tasks/shared.h"
#include "server/tasks/task_result.h"

enum {
    RETRY_MS = 1 /* a home takes nothing and its lane is full: how long until the next try */
};

/* One call that waits on the executor's stack. */
struct blocking_frame {
    struct blocking_frame *outer;
    struct task *parent;
    struct task *child;
    bool back; /* the child is ours again */
};

/* Nested calls that came home go to the frames that wait for them, or are freed. */
static void take_returns(struct blocking *b)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&b->base.returns); item; item = next) {
        next = item->next;
        struct task *t = ao_of(item, struct task, inbox);
        struct blocking_frame *f = b->frames;
        while (f && f->child != t)
            f = f->outer;
        if (f)
            f->back = true;
        else
            task_discard(t);
    }
}

/* Everything on its way; false: a lane is full. */
static bool flush(struct blocking *b)
{
    struct executor *e = &b->base;
    bool all = true;
    for (uint32_t i = 0; i < e->home_count; i++)
        all &= lane_flush(&e->out[i]);
    return all;
}

/* Sleeps until woken, at most `timeout` ns, unless `found` finds something after the announcement:
 * then true. */
static bool sleep_until(struct blocking *b, bool (*found)(struct blocking *b), ao_time timeout)
{
    bool flushed = flush(b);
    if (!flushed && timeout > AO_MS(RETRY_MS))
        timeout = AO_MS(RETRY_MS);
    waker_announce(&b->waker);
    bool any = found(b);
    if (!any)
        b->poller->poll(b->poller, timeout);
    waker_retract(&b->waker);
    return any;
}

/* The task whose handler this thread runs. */
static _Thread_local const struct task *running_here;

const struct task *blocking_running_here(void)
{
    return running_here;
}

static void run_handler(struct executor *e, struct task *t)
{
    const struct task *outer_task = running_here;
    struct method *outer = atomic_load_explicit(&e->running, memory_order_relaxed);
    ao_time outer_since = counter_read(&e->running_since), began = executor_clock(e);
    counter_set(&e->running_since, began);
    atomic_store_explicit(&e->running, t->method, memory_order_relaxed);
    running_here = t;
    t->method->handler->run(task_face(t));
    running_here = outer_task;
    atomic_store_explicit(&e->running, outer, memory_order_relaxed);
    counter_set(&e->running_since, outer_since);
    t->busy = executor_clock(e) - began;
}

/* To its end, and sends it home. */
static void run_task(struct blocking *b, struct task *t)
{
    struct executor *e = &b->base;
    assert(t->owner == TASK_OF_EXECUTOR);
    executor_note_hand_over(e, t);
    t->executor = e;
    if (task_flagged(t)) {
        executor_trace(e, "drop", t);
    } else {
        executor_trace(e, "run", t);
        attempt_enter(t, ATTEMPT_RUNNING);
        task_set(t, TASK_TIMED);
        run_handler(e, t);
        executor_book(e, t);
    }
    executor_publish(e, 1);
    executor_send_home(e, t);
    flush(b);
}

bool blocking_round(struct blocking *b)
{
    take_returns(b);
    struct lane_item *item = lane_take(&b->base.in);
    lane_release(&b->base.in);
    if (!item)
        return false;
    run_task(b, ao_of(item, struct task, item));
    return true;
}

bool blocking_stopping(const struct blocking *b)
{
    return atomic_load_explicit(&b->stop, memory_order_acquire);
}

/* While a result cannot leave: the next task might take long, and it would wait behind that. */
static bool must_stop(struct blocking *b)
{
    return blocking_stopping(b);
}

static bool has_work(struct blocking *b)
{
    return blocking_stopping(b) || lane_ready(&b->base.in) || !mpsc_empty(&b->base.returns);
}

static void settle_thread(const struct executor *e)
{
    char name[24];
    snprintf(name, sizeof name, "blocking %u", e->index);
    thread_settle(name, e->plan.core, e->plan.priority);
}

static void *thread_main(void *arg)
{
    struct blocking *b = arg;
    settle_thread(&b->base);
    while (!blocking_stopping(b))
        if (!flush(b))
            sleep_until(b, must_stop, AO_NEVER);
        else if (!blocking_round(b))
            sleep_until(b, has_work, AO_NEVER);
    flush(b);
    sem_post(&b->ended);
    return NULL;
}

int blocking_start(struct blocking *b)
{
    int error = thread_start_undisturbed(&b->thread, thread_main, b);
    b->started = error == 0;
    errno = error;
    return error ? -1 : 0;
}

void blocking_stop(struct blocking *b)
{
    atomic_store_explicit(&b->stop, true, memory_order_release);
    waker_notify(&b->waker);
}

static struct timespec from_now(ao_time limit)
{
    ao_time now = clock_monotonic(), at = limit < AO_NEVER - now ? now + limit : AO_NEVER;
    return (struct timespec){.tv_sec = (time_t)(at / AO_S(1)), .tv_nsec = (long)(at % AO_S(1))};
}

/* A semaphore and not a timed join, of which the thread sanitizer knows nothing. */
bool blocking_join(struct blocking *b, ao_time limit)
{
    if (!b->started)
        return true;
    struct timespec until = from_now(limit);
    int waited;
    do
        waited = sem_clockwait(&b->ended, CLOCK_MONOTONIC, &until);
    while (waited != 0 && errno == EINTR);
    if (waited != 0)
        return false;
    pthread_join(b->thread, NULL);
    b->started = false;
    return true;
}

/* --- Nested calls --- */

/* While a handler waits: see the head of blocking.h.  One that runs others' calls meanwhile waits
 * already, and goes on to run them. */
static enum executor_accepting stop_accepting(struct blocking *b)
{
    struct executor *e = &b->base;
    uint8_t before = atomic_load_explicit(&e->accepting, memory_order_relaxed);
    if (before == ACCEPTS_ALL) {
        uint32_t waiting =
            atomic_fetch_add_explicit(&e->shared->waiting, 1, memory_order_acq_rel) + 1;
        bool last = waiting == e->shared->groups[kind_index(ERGON_BLOCKING)].count;
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
    atomic_fetch_sub_explicit(&e->shared->waiting, 1, memory_order_acq_rel);
    atomic_store_explicit(&e->accepting, ACCEPTS_ALL, memory_order_relaxed);
}

/* What stands in the lane: nested calls are run if this one accepts them. */
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
        run_task(b, t);
    else
        executor_give_back(e, t);
}

static bool anything(struct blocking *b)
{
    return blocking_stopping(b) || !mpsc_empty(&b->base.returns) || lane_ready(&b->base.in) ||
           task_flagged(b->frames->parent);
}

/* Until the child is back, or nobody wants it any more: then the reason. */
static enum ergon_error await(struct blocking *b, struct blocking_frame *f)
{
    struct executor *e = &b->base;
    for (;;) {
        take_returns(b);
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
            sleep_until(b, anything,
                        f->parent->deadline == AO_NEVER ? AO_NEVER : f->parent->deadline - now);
    }
}

static void give_up(struct blocking *b, struct task *child)
{
    unsigned kind = kind_index(child->method->handler->kind);
    atomic_fetch_or_explicit(&child->flags, TASK_GONE, memory_order_relaxed);
    executors_notify(&b->base.shared->groups[kind]);
}

/* The outcome stays with the parent until its next call. */
static void keep_outcome(struct task *parent, struct task *child, struct ergon_outcome *out)
{
    struct outcome outcome;
    task_outcome(child, &outcome);
    outcome_keep(&outcome, &parent->nested_block, out);
    task_take_back(child, &outcome);
}

static void call_and_wait(struct blocking *b, struct task *parent, struct task *child,
                          struct ergon_outcome *out)
{
    struct blocking_frame frame = {.outer = b->frames, .parent = parent, .child = child};
    b->frames = &frame;
    b->frame_count++;
    enum executor_accepting before = stop_accepting(b);
    task_pass(child, TASK_OF_HOME, TASK_OF_MANAGER);
    manager_post(&b->base.shared->inbox, child);
    enum ergon_error error = await(b, &frame);
    accept_again(b, before);
    b->frames = frame.outer;
    b->frame_count--;
    if (error == ERGON_OK) {
        keep_outcome(parent, child, out);
        task_discard(child);
        return;
    }
    give_up(b, child);
    *out = outcome_refused(error);
}

static struct task *make_child(struct blocking *b, const struct task *parent, struct method *m,
                               struct span params)
{
    struct task *t = task_new_alone(m, params, parent->deadline);
    if (!t)
        return NULL;
    t->caller = &b->base;
    t->call_index = CALL_NONE;
    t->number = parent->number;
    t->chain = parent->chain;
    t->depth = (uint8_t)(parent->depth + 1);
    return t;
}

void blocking_call(struct task *parent, struct method *m, struct span params,
                   struct ergon_outcome *out)
{
    struct blocking *b = blocking_of(parent->executor);
    if (!m) {
        *out = outcome_refused(ERGON_E_NO_METHOD);
    } else if (parent->depth + 1 > TASK_DEPTH_MAX) {
        *out = outcome_refused(ERGON_E_TOO_DEEP);
    } else if (b->frame_count >= BLOCKING_FRAMES_MAX) {
        *out = outcome_refused(ERGON_E_BUSY);
    } else {
        struct task *child = make_child(b, parent, m, params);
        if (!child) {
            *out = outcome_refused(ERGON_E_MEMORY);
            return;
        }
        manager_admit(&b->base.shared->inbox, m->handler->kind, true);
        call_and_wait(b, parent, child, out);
    }
}

/* --- Set-up --- */

static void ring_bell(void *arg)
{
    struct poller *poller = arg;
    poller->wake(poller);
}

int blocking_init(struct blocking *b, struct tasks_shared *shared, uint32_t index)
{
    struct executor *e = &b->base;
    sem_init(&b->ended, 0, 0); /* cannot fail: the value is small */
    b->poller = poller_eventfd_new();
    if (!b->poller)
        return -1;
    waker_init(&b->waker, ring_bell, b->poller);
    e->waker = &b->waker;
    if (executor_init(e, shared, index, NULL) == 0 &&
        lane_init_thread(&e->in, EXECUTOR_LANE_IN, shared->plan.manager, &b->waker) == 0)
        return 0;
    blocking_fini(b);
    return -1;
}

void blocking_fini(struct blocking *b)
{
    take_returns(b);
    executor_fini(&b->base);
    sem_destroy(&b->ended);
    poller_eventfd_free(b->poller);
}
