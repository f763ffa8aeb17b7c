#include "server/tasks/executors/blocking.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/runtime/thread.h"
#include "server/tasks/executors/blocking_parts.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/tasks_parts.h"

enum {
    RETRY_MS = 1 /* a home takes nothing and its lane is full: how long until the next try */
};

static void ring_bell(void *arg)
{
    struct poller *poller = arg;
    poller->wake(poller);
}

int blocking_init(struct blocking *b, struct tasks *tasks, uint32_t index,
                  const struct executor_plan *plan)
{
    struct executor *e = &b->base;
    mpsc_init(&b->returns);
    sem_init(&b->ended, 0, 0); /* cannot fail: the value is small */
    b->poller = poller_eventfd_new();
    if (!b->poller)
        return -1;
    waker_init(&b->waker, ring_bell, b->poller);
    if (executor_init(e, tasks, index, plan, NULL) == 0 &&
        lane_init_thread(&e->in, EXECUTOR_LANE_IN, tasks->plan.manager, &b->waker) == 0)
        return 0;
    blocking_fini(b);
    return -1;
}

void blocking_fini(struct blocking *b)
{
    blocking_take_returns(b);
    executor_fini(&b->base);
    sem_destroy(&b->ended);
    poller_eventfd_free(b->poller);
}

/* Everything on its way; false: a lane is full. */
bool blocking_flush(struct blocking *b)
{
    struct executor *e = &b->base;
    bool all = true;
    for (uint32_t i = 0; i < e->tasks->home_count; i++)
        all &= lane_flush(&e->out[i]);
    return all;
}

bool blocking_sleep(struct blocking *b, bool (*found)(struct blocking *b), ao_time timeout)
{
    bool flushed = blocking_flush(b);
    if (!flushed && timeout > AO_MS(RETRY_MS))
        timeout = AO_MS(RETRY_MS);
    waker_announce(&b->waker);
    bool any = found(b);
    if (!any)
        b->poller->poll(b->poller, timeout);
    waker_retract(&b->waker);
    return any;
}

static void run_handler(struct executor *e, struct task *t)
{
    struct method *outer = atomic_load_explicit(&e->running, memory_order_relaxed);
    ao_time outer_since = counter_read(&e->running_since), began = executor_clock(e);
    counter_set(&e->running_since, began);
    atomic_store_explicit(&e->running, t->method, memory_order_relaxed);
    t->method->handler->run(task_face(t));
    atomic_store_explicit(&e->running, outer, memory_order_relaxed);
    counter_set(&e->running_since, outer_since);
    t->busy = executor_clock(e) - began;
}

void blocking_run(struct blocking *b, struct task *t)
{
    struct executor *e = &b->base;
    executor_note_hand_over(e, t);
    t->executor = e;
    if (task_flagged(t)) {
        executor_trace(e, "drop", t);
    } else {
        executor_trace(e, "run", t);
        attempt_enter(t, ATTEMPT_RUNNING);
        task_mark(t, TASK_TIMED);
        run_handler(e, t);
        executor_book(e, t);
    }
    executor_publish(e, 1);
    if (t->caller)
        blocking_return(t->caller, t);
    else
        executor_send_home(e, t);
    blocking_flush(b);
}

bool blocking_round(struct blocking *b)
{
    blocking_take_returns(b);
    struct lane_item *item = lane_take(&b->base.in);
    lane_release(&b->base.in);
    if (!item)
        return false;
    blocking_run(b, ao_of(item, struct task, item));
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
    return blocking_stopping(b) || lane_ready(&b->base.in) || !mpsc_empty(&b->returns);
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
        if (!blocking_flush(b))
            blocking_sleep(b, must_stop, AO_NEVER);
        else if (!blocking_round(b))
            blocking_sleep(b, has_work, AO_NEVER);
    blocking_flush(b);
    sem_post(&b->ended);
    return NULL;
}

/* Signals are for the threads that wait for them. */
int blocking_start(struct blocking *b)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&b->thread, NULL, thread_main, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t nsec = (uint64_t)t.tv_nsec + limit % AO_S(1);
    t.tv_sec += (time_t)(limit / AO_S(1) + nsec / AO_S(1));
    t.tv_nsec = (long)(nsec % AO_S(1));
    return t;
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

void blocking_return(struct blocking *b, struct task *t)
{
    mpsc_push(&b->returns, &t->inbox);
    waker_notify(&b->waker);
}

void blocking_notify(struct blocking *b)
{
    waker_notify(&b->waker);
}
