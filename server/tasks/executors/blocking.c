#include "server/tasks/executors/blocking.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/recorder.h"
#include "base/tracepoint.h"
#include "server/runtime/sync/semaphore_remote.h"
#include "server/runtime/thread.h"
#include "server/runtime/thread_locals.h"
#include "server/accounts/tally.h"
#include "server/tasks/calls/nested.h"
#include "server/tasks/executors/booking.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/shared.h"
#include "server/tasks/task.h"
#include "server/tasks/task_result.h"
#include "server/tasks/task_trace.h"

enum {
    RETRY_MS = 1,      /* a home takes nothing and its lane is full: how long until the next try */
    GUESS_NS = 1000000 /* service of one that has measured nothing yet */
};

/* One handler that waits on the executor's stack: for a nested call, or for permits. */
struct blocking_frame {
    struct blocking_frame *outer;
    struct task *parent;
    ao_time deadline; /* of the executor's clock */
    enum executor_accepting before;

    struct task *child; /* NULL: it waits for permits */
    bool back;          /* the child is ours again */

    struct ao_sem_remote *sem;
    uint32_t permits;
    struct thread_wait *asked; /* NULL: no memory to ask */
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

const struct task *blocking_running_here(void)
{
    return thread_locals.blocking_task;
}

/* What other threads see of the task that runs. */
static void show(struct executor *e, const struct task *t)
{
    counter_set(&e->running_job, t && task_is(t, TASK_ATTEMPT) ? t->attempt->id : 0);
    atomic_store_explicit(&e->running_number, t ? t->number : 0, memory_order_seq_cst);
}

/* From here on the thread's processor time is this handler's, but for what nested ones use on its
 * stack.  Returns what the thread has used by now, or 0 if this run is not measured. */
static ao_time begin_cpu(struct executor *e, const struct method *m)
{
    ao_time began = executor_measures(e, m, true) ? clock_thread() : 0;
    counter_set(&e->cpu_mark, began);
    return began;
}

/* `outer`: `cpu_mark` of the handler below on the stack, which has used nothing meanwhile.  Returns
 * its new value. */
static ao_time end_cpu(struct executor *e, const struct method *m, ao_time began, ao_time outer)
{
    if (began == 0)
        return outer;
    ao_time now = clock_thread(), mark = counter_read(&e->cpu_mark);
    counter_set(&e->cpu_mark, 0);
    executor_note_cpu(e, m, now - mark);
    return outer > 0 ? outer + now - began : 0;
}

static void record(struct executor *e, enum recorder_kind kind, const struct task *t, ao_time now)
{
    struct recorder *r = blocking_of(e)->recorder;
    recorder_clock(r, now);
    recorder_handler(r, kind, t->method->mark, t->number);
}

static void run_handler(struct executor *e, struct task *t)
{
    struct method *outer = atomic_load_explicit(&e->running, memory_order_relaxed);
    ao_time outer_since = counter_read(&e->running_since), began = executor_clock(e);
    ao_time outer_mark = counter_read(&e->cpu_mark), cpu = begin_cpu(e, t->method);
    counter_set(&e->running_since, began);
    atomic_store_explicit(&e->running, t->method, memory_order_relaxed);
    counter_add(&e->figures[t->method->index].steps, 1);
    record(e, RECORDER_BEGAN, t, began);
    t->method->handler->run(task_face(t));
    outer_mark = end_cpu(e, t->method, cpu, outer_mark);
    t->busy = executor_clock(e) - began;
    record(e, RECORDER_ENDED, t, began + t->busy);
    counter_set(&e->running_since, began + t->busy);
    counter_add(&e->figures[t->method->index].busy_ns, t->busy);
    /* Release: a reader that finds another method here sees the figures of this run; pairs with the
     * acquire in add_running(). */
    atomic_store_explicit(&e->running, outer, memory_order_release);
    counter_set(&e->running_since, outer_since);
    counter_set(&e->cpu_mark, outer_mark);
}

/* To its end, and sends it home. */
static void run_task(struct blocking *b, struct task *t)
{
    struct executor *e = &b->base;
    assert(t->owner == TASK_OF_EXECUTOR);
    executor_note_hand_over(e, t);
    const struct task *outer = thread_locals.blocking_task;
    thread_locals.blocking_task = t;
    show(e, t);
    /* After the number was stored: see executors_notify(). */
    if (atomic_load_explicit(&t->flags, memory_order_seq_cst) || !executor_begin(e, t)) {
        executor_trace(e, "drop", t);
    } else {
        executor_trace(e, "run", t);
        task_set(t, TASK_TIMED);
        executor_note_wait(e, &e->figures[t->method->index].times, t);
        TRACEPOINT4(start, t->number, t->method->name.at, t->method->name.len, e->index);
        run_handler(e, t);
        TRACEPOINT5(end, t->number, t->method->name.at, t->method->name.len, e->index,
                    (int32_t)t->error);
        attempt_over(t);
        executor_book(e, t, false);
    }
    show(e, outer);
    thread_locals.blocking_task = outer;
    executor_publish(e, 1);
    executor_send_home(e, t);
    flush(b);
}

static bool is_present(const struct blocking *b)
{
    return atomic_load_explicit(&b->present, memory_order_relaxed);
}

bool blocking_at_rest(const struct executor *e)
{
    return !is_present(ao_of(e, const struct blocking, base));
}

static bool is_wanted(const struct blocking *b)
{
    return atomic_load_explicit(&b->wanted, memory_order_acquire);
}

static void give_back(struct executor *e, struct task *t)
{
    executor_publish(e, 1);
    executor_give_back(e, t);
}

bool blocking_round(struct blocking *b)
{
    take_returns(b);
    struct lane_item *item = lane_claim(&b->in);
    lane_release(&b->in);
    if (!item)
        return false;
    struct task *t = ao_of(item, struct task, item);
    if (is_present(b))
        run_task(b, t);
    else
        give_back(&b->base, t);
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
    return blocking_stopping(b) || lane_ready(&b->in) || !mpsc_empty(&b->base.returns) ||
           (is_wanted(b) && !is_present(b));
}

static void settle_thread(struct executor *e)
{
    char name[24];
    clockid_t cpu = 0;
    pthread_getcpuclockid(pthread_self(), &cpu); /* without it a run under way shows none */
    atomic_store_explicit(&e->cpu_clock, cpu, memory_order_relaxed);
    executor_name(e, name, sizeof name);
    thread_settle(name, e->plan.core, e->plan.priority);
}

static void *thread_main(void *arg)
{
    struct blocking *b = arg;
    settle_thread(&b->base);
    while (!blocking_stopping(b)) {
        blocking_take_place(b);
        if (!flush(b))
            sleep_until(b, must_stop, AO_NEVER);
        else if (!blocking_round(b))
            sleep_until(b, has_work, AO_NEVER);
    }
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
    return clock_spec(clock_after(clock_monotonic(), limit));
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

/* --- Handlers that wait --- */

/* While a handler waits: see the head of blocking.h.  One that runs others' calls meanwhile waits
 * already, and goes on to run them. */
static enum executor_accepting stop_accepting(struct blocking *b)
{
    struct executor *e = &b->base;
    uint8_t before = atomic_load_explicit(&e->accepting, memory_order_relaxed);
    if (before == ACCEPTS_ALL) {
        uint32_t waiting =
            atomic_fetch_add_explicit(&e->shared->waiting, 1, memory_order_acq_rel) + 1;
        assert(waiting <= e->pool->group.count);
        bool last = waiting == e->pool->group.count;
        atomic_store_explicit(&e->accepting, last ? ACCEPTS_NESTED : ACCEPTS_NONE,
                              memory_order_relaxed);
    }
    executor_publish(e, 1);
    return (enum executor_accepting)before;
}

/* What came while the handler waited, and was not looked at: it may begin earlier elsewhere. */
static void empty_lane(struct blocking *b)
{
    struct lane_item *item;
    while ((item = lane_claim(&b->in)))
        give_back(&b->base, ao_of(item, struct task, item));
    lane_release(&b->in);
}

/* A manager that waits for room need not hear of it: what it would give now stood behind the
 * handler that goes on, and might begin earlier elsewhere.  It hears when that handler waits again
 * or has ended. */
static void accept_again(struct blocking *b, enum executor_accepting before)
{
    struct executor *e = &b->base;
    empty_lane(b);
    executor_publish(e, -1);
    if (before != ACCEPTS_ALL)
        return;
    atomic_fetch_sub_explicit(&e->shared->waiting, 1, memory_order_acq_rel);
    atomic_store_explicit(&e->accepting, ACCEPTS_ALL, memory_order_relaxed);
}

static void ring_for_permits(void *arg)
{
    struct blocking *b = arg;
    waker_notify(&b->waker);
}

static void ask_for_permits(struct blocking *b, struct blocking_frame *f)
{
    f->asked = sem_remote_wait(f->sem, f->permits, (struct thread_bell){ring_for_permits, b});
}

/* A handler that waits for permits withdraws its request while another's call runs on its stack: it
 * could not go on with what it is granted, and that call, or one that it waits for, might want the
 * same permits. False: it has its answer already. */
static bool step_aside(struct blocking_frame *f)
{
    return f->child || thread_wait_leave(f->asked);
}

/* Takes a task from the lane: a nested call is run if this executor accepts them, any other goes
 * back. */
static void serve_lane(struct blocking *b, struct blocking_frame *f)
{
    struct executor *e = &b->base;
    struct lane_item *item = lane_claim(e->in);
    lane_release(e->in);
    if (!item)
        return;
    struct task *t = ao_of(item, struct task, item);
    bool here = atomic_load_explicit(&e->accepting, memory_order_relaxed) == ACCEPTS_NESTED;
    if (!here || t->depth == 0 || !step_aside(f)) {
        give_back(e, t);
        return;
    }
    run_task(b, t);
    if (!f->child)
        ask_for_permits(b, f);
}

static bool has_answer(const struct blocking_frame *f)
{
    return f->child ? f->back : f->asked && thread_wait_answered(f->asked);
}

/* A nested call that runs on its caller's stack is not given up by the caller, which waits below it
 * and does not run: it looks down itself. */
unsigned blocking_unwanted(const struct blocking *b, const struct task *t)
{
    unsigned flags = task_flagged(t);
    for (const struct blocking_frame *f = b->frames; f && !flags; f = f->outer)
        if (f->child == t) {
            t = f->parent;
            flags = task_flagged(t);
        }
    return flags;
}

static bool anything(struct blocking *b)
{
    return blocking_stopping(b) || has_answer(b->frames) || !mpsc_empty(&b->base.returns) ||
           lane_ready(&b->in) || blocking_unwanted(b, b->frames->parent);
}

/* Until the answer is there, or nobody wants it any more: then the reason. */
static enum ergon_error await_answer(struct blocking *b, struct blocking_frame *f)
{
    struct executor *e = &b->base;
    for (;;) {
        take_returns(b);
        if (has_answer(f))
            return ERGON_OK;
        if (!f->child && !f->asked)
            return ERGON_E_MEMORY;
        if (blocking_unwanted(b, f->parent))
            return ERGON_E_CANCELLED;
        if (blocking_stopping(b))
            return ERGON_E_DRAINING;
        ao_time now = executor_clock(e);
        if (now >= f->deadline)
            return ERGON_E_DEADLINE;
        if (lane_ready(e->in))
            serve_lane(b, f);
        else
            sleep_until(b, anything, f->deadline == AO_NEVER ? AO_NEVER : f->deadline - now);
    }
}

static void enter_frame(struct blocking *b, struct blocking_frame *f)
{
    assert(b->frame_count < BLOCKING_FRAMES_MAX);
    f->outer = b->frames;
    b->frames = f;
    b->frame_count++;
    f->before = stop_accepting(b);
}

static void leave_frame(struct blocking *b, const struct blocking_frame *f)
{
    assert(b->frames == f && b->frame_count > 0);
    accept_again(b, f->before);
    b->frames = f->outer;
    b->frame_count--;
}

/* --- Nested calls --- */

static void give_up(struct task *child)
{
    const struct executor_group *group = &child->method->pool->group;
    uint64_t number = child->number;
    atomic_fetch_or_explicit(&child->flags, TASK_GONE, memory_order_seq_cst);
    executors_notify(group, number);
}

/* The outcome stays with the parent until its next call. */
static void keep_outcome(struct task *parent, struct task *child, struct ergon_outcome *out)
{
    struct outcome outcome;
    task_outcome(child, &outcome);
    size_t bytes = outcome.error == ERGON_OK ? outcome.result.len : 0;
    outcome_keep(&outcome, &parent->nested_block, out);
    task_hold_nested(parent, bytes);
    task_take_back(child, &outcome);
}

/* `error`: why the outcome was not waited for. */
static void end_span(const struct task_trace *trace, struct task *child, enum ergon_error error)
{
    struct outcome outcome;
    if (error == ERGON_OK)
        task_outcome(child, &outcome);
    else
        outcome_of(error, &outcome);
    task_trace_end(trace, &outcome);
}

static void call_and_wait(struct blocking *b, struct task *parent, struct task *child,
                          struct ergon_outcome *out)
{
    struct blocking_frame frame = {.parent = parent, .deadline = parent->deadline, .child = child};
    const struct task_trace *trace = task_trace(child);
    enter_frame(b, &frame);
    task_pass(child, TASK_OF_HOME, TASK_OF_MANAGER);
    manager_post(&b->base.shared->inbox, child);
    enum ergon_error error = await_answer(b, &frame);
    leave_frame(b, &frame);
    if (trace)
        end_span(trace, child, error);
    if (error == ERGON_OK) {
        keep_outcome(parent, child, out);
        task_discard(child);
        return;
    }
    give_up(child);
    *out = outcome_refused(error);
}

/* The tally is given to it. */
static struct task *make_child(struct blocking *b, const struct task *parent, struct method *m,
                               struct span params, struct tally *tally)
{
    struct task *t = task_new_alone(m, params, parent->deadline);
    if (!t) {
        tally_close(tally);
        return NULL;
    }
    t->caller = &b->base;
    t->call_index = CALL_NONE;
    t->number = parent->number;
    t->chain = parent->chain;
    t->depth = (uint8_t)(parent->depth + 1);
    struct trace_link trace = task_trace_link(parent);
    task_join_trace(t, &trace, b->base.shared->plan.tracer); /* without memory it goes without */
    if (tally)
        task_charge(t, tally);
    tally_close(tally);
    return t;
}

/* ERGON_OK: it may begin.  `flags`: of enum task_own_flag. */
static enum ergon_error may_call(const struct blocking *b, const struct task *parent,
                                 const struct method *m, unsigned flags)
{
    if (!m)
        return ERGON_E_NO_METHOD;
    enum ergon_error refused = flags & TASK_MESSAGE ? ERGON_OK : method_refuses(m);
    if (refused != ERGON_OK)
        return refused;
    if (parent->depth + 1 > TASK_DEPTH_MAX)
        return ERGON_E_TOO_DEEP;
    return b->frame_count >= BLOCKING_FRAMES_MAX ? ERGON_E_BUSY : ERGON_OK;
}

static void call_with(struct task *parent, struct method *m, struct span params, unsigned flags,
                      struct ergon_outcome *out)
{
    struct blocking *b = blocking_of(parent->executor);
    struct tally *tally;
    enum ergon_error refused = may_call(b, parent, m, flags);
    if (refused != ERGON_OK ||
        !task_open_tally(parent, method_wants(m, params.len), &tally, &refused)) {
        *out = outcome_refused(refused);
        return;
    }
    struct task *child = make_child(b, parent, m, params, tally);
    if (!child) {
        *out = outcome_refused(ERGON_E_MEMORY);
        return;
    }
    task_set(child, flags);
    manager_admit(&b->base.shared->inbox, m->pool, child->tally, true);
    call_and_wait(b, parent, child, out);
}

void blocking_call(struct task *parent, struct method *m, struct span params,
                   struct ergon_outcome *out)
{
    call_with(parent, m, params, 0, out);
}

void blocking_call_actor(struct task *parent, struct method *m, struct span params,
                         struct ergon_outcome *out)
{
    call_with(parent, m, params, TASK_MESSAGE, out);
}

/* --- Permits --- */

/* A grant that came first counts, whatever ended the wait. */
static enum ao_wait_outcome permits_outcome(const struct blocking *b, struct blocking_frame *f,
                                            enum ergon_error error)
{
    if (f->asked && (error == ERGON_OK || !thread_wait_leave(f->asked)))
        return thread_wait_take(f->asked);
    if (error == ERGON_E_MEMORY)
        return AO_WAIT_REFUSED;
    bool late = error == ERGON_E_DEADLINE || blocking_unwanted(b, f->parent) == TASK_LATE;
    return late ? AO_WAIT_DEADLINE : AO_WAIT_CANCELLED;
}

enum ao_wait_outcome blocking_acquire(struct task *t, struct ao_sem_remote *sem, uint32_t permits,
                                      ao_time limit)
{
    struct blocking *b = blocking_of(t->executor);
    ao_time until = clock_after(executor_clock(&b->base), limit);
    if (b->frame_count >= BLOCKING_FRAMES_MAX)
        return AO_WAIT_REFUSED;
    if (limit == 0)
        return AO_WAIT_DEADLINE; /* the answer takes a round of another thread */
    struct blocking_frame frame = {.parent = t,
                                   .deadline = until < t->deadline ? until : t->deadline,
                                   .sem = sem,
                                   .permits = permits};
    enter_frame(b, &frame);
    ask_for_permits(b, &frame);
    enum ergon_error error = await_answer(b, &frame);
    leave_frame(b, &frame);
    return permits_outcome(b, &frame, error);
}

/* --- Spares --- */

static void begin_as_spare(struct blocking *b)
{
    struct executor *e = &b->base;
    atomic_store_explicit(&b->present, true, memory_order_relaxed);
    atomic_fetch_sub_explicit(&e->shared->waiting, 1, memory_order_acq_rel);
    atomic_store_explicit(&e->accepting, ACCEPTS_ALL, memory_order_relaxed);
    manager_on_capacity(&e->shared->inbox, e->pool, NULL);
}

/* Not as the last that takes nested calls: somebody must run what all others wait for. */
static void rest(struct blocking *b)
{
    struct executor *e = &b->base;
    uint32_t count = e->pool->group.count;
    uint32_t waiting = atomic_load_explicit(&e->shared->waiting, memory_order_relaxed);
    do {
        if (waiting + 1 >= count)
            return;
    } while (!atomic_compare_exchange_weak_explicit(&e->shared->waiting, &waiting, waiting + 1,
                                                    memory_order_acq_rel, memory_order_relaxed));
    atomic_store_explicit(&e->accepting, ACCEPTS_NONE, memory_order_relaxed);
    atomic_store_explicit(&b->present, false, memory_order_relaxed);
}

void blocking_take_place(struct blocking *b)
{
    if (!b->base.plan.spare)
        return;
    bool wanted = is_wanted(b), present = is_present(b);
    if (wanted && !present)
        begin_as_spare(b);
    else if (!wanted && present)
        rest(b);
}

bool blocking_want(struct blocking *b, bool wanted)
{
    atomic_store_explicit(&b->wanted, wanted, memory_order_release);
    if (wanted && !b->started && blocking_start(b) != 0)
        log_error("cannot start the thread of a spare blocking executor", LOG_INT("errno", errno));
    if (!b->started)
        return !wanted;
    if (is_present(b) != wanted)
        waker_notify(&b->waker);
    return is_present(b) == wanted;
}

/* --- Set-up --- */

/* A task that runs for longer than the mean says more than the mean. */
static uint64_t expects(const struct executor *e)
{
    uint64_t mean = counter_read(&e->service_ns);
    if (atomic_load_explicit(&e->running, memory_order_relaxed)) {
        ao_time since = counter_read(&e->running_since), now = executor_clock(e);
        if (now > since && now - since > mean)
            return now - since;
    }
    return mean ? mean : GUESS_NS;
}

/* Whose handler begins now looks at the flag after it has shown itself. */
static void notify(struct executor *e, uint64_t number)
{
    if (atomic_load_explicit(&e->running_number, memory_order_seq_cst) != number)
        return;
    counter_set(&e->unwanted_number, number);
    waker_notify(e->waker);
}

static void stop(struct executor *e)
{
    blocking_stop(blocking_of(e));
}

static bool join(struct executor *e, ao_time limit)
{
    return blocking_join(blocking_of(e), limit);
}

static void fini(struct executor *e)
{
    blocking_fini(blocking_of(e));
}

static const struct executor_class blocking_executor = {.name = "blocking",
                                                        .turns_after = AO_NEVER,
                                                        .expects = expects,
                                                        .notify = notify,
                                                        .stop = stop,
                                                        .join = join,
                                                        .fini = fini};

int blocking_init(struct blocking *b, struct tasks_shared *shared, uint32_t index)
{
    struct executor *e = &b->base;
    e->cls = &blocking_executor;
    sem_init(&b->ended, 0, 0); /* cannot fail: the value is small */
    b->poller = poller_eventfd_new();
    if (!b->poller)
        return -1;
    e->in = &b->in;
    e->out = b->out = task_lanes_new(shared_homes(shared));
    waker_init_poller(&b->waker, b->poller);
    e->waker = &b->waker;
    b->recorder = recorder_new();
    bool spare = shared->plan.executors[index].spare;
    atomic_init(&b->present, !spare);
    atomic_init(&b->wanted, !spare);
    atomic_init(&e->accepting, spare ? ACCEPTS_NONE : ACCEPTS_ALL);
    if (b->out && b->recorder && executor_init(e, shared, index, NULL) == 0 &&
        lane_init_thread(&b->in, EXECUTOR_LANE_IN, shared->plan.manager, &b->waker) == 0)
        return 0;
    blocking_fini(b);
    return -1;
}

void blocking_fini(struct blocking *b)
{
    take_returns(b);
    task_lanes_free(b->out, b->base.home_count);
    task_lane_close(&b->in);
    executor_fini(&b->base);
    sem_destroy(&b->ended);
    recorder_free(b->recorder);
    poller_eventfd_free(b->poller);
}
