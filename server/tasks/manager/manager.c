/* Why the manager never sleeps on a queued task beside a free executor.
 *
 *   manager, all executors of a kind full     executor, a task has left
 *     announce `waiting_for_room`          (M1)          left = ...            (E1)
 *     scan the counters again     (M2)          notify `waiting_for_room`      (E2)
 *     room: retract, go on                      announced: ask the manager
 *     none: inactive
 *
 * It is the protocol of waker.c, with the counters as inputs and an ask as the wake: M1 stores and
 * fences before M2 loads, E1 stores before E2 fences and loads.  So M2 sees the task that left, or
 * E2 sees the announcement.  An ask that comes before the manager has gone inactive makes it active
 * again.  tests/model/manager.pml checks it with store buffers. */
#include "server/tasks/manager/manager.h"

#include <stdio.h>

#include "server/runtime/object/run_next.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/tasks_parts.h"

enum {
    INLET_BUDGET = 256, /* tasks of one lane, a step */
    GIVE_BUDGET = 512,  /* tasks given, a step */
    SWEEP_PART = 8      /* the queue is swept when this part of its room may be flagged */
};

static uint64_t admitted_one(enum ergon_kind kind)
{
    return kind == ERGON_STEPPED ? (uint64_t)1 << 32 : 1;
}

static uint64_t admitted_all(uint64_t word)
{
    return (word >> 32) + (uint32_t)word;
}

bool manager_admit(struct manager *m, enum ergon_kind kind, bool nested)
{
    uint64_t one = admitted_one(kind);
    uint64_t was = atomic_fetch_add_explicit(&m->admitted, one, memory_order_relaxed);
    if (nested || admitted_all(was) < m->tasks->plan.queue_max)
        return true;
    manager_dismiss(m, kind);
    return false;
}

static void dismiss(struct manager *m, enum ergon_kind kind, uint32_t count)
{
    atomic_fetch_sub_explicit(&m->admitted, count * admitted_one(kind), memory_order_relaxed);
}

void manager_dismiss(struct manager *m, enum ergon_kind kind)
{
    dismiss(m, kind, 1);
}

bool manager_is_empty(const struct manager *m, enum ergon_kind kind)
{
    uint64_t word = atomic_load_explicit(&m->admitted, memory_order_relaxed);
    return kind == ERGON_STEPPED ? word >> 32 == 0 : (uint32_t)word == 0;
}

void manager_ask(struct manager *m)
{
    ao_post(m->handle, AO_POST_ACTIVATE);
}

/* On the manager's own thread nothing runs beside it, and its announcement is seen without the
 * fence: it gives more as soon as the executor's step is over. */
void manager_on_capacity(struct manager *m, enum ergon_kind kind, const struct activator *from)
{
    struct waker *waiting_for_room = &m->kinds[kind_index(kind)].waiting_for_room;
    if (from != m->activator) {
        waker_notify(waiting_for_room); /* E2 */
    } else if (waker_announced(waiting_for_room)) {
        waker_retract(waiting_for_room);
        ao_run_next(&m->ao);
    }
}

void manager_post(struct manager *m, struct task *t)
{
    if (mpsc_push(&m->inbox, &t->inbox))
        manager_ask(m);
}

void manager_note_flagged(struct manager *m)
{
    uint32_t part = m->tasks->plan.queue_max / SWEEP_PART;
    uint32_t was = atomic_fetch_add_explicit(&m->flagged, 1, memory_order_relaxed);
    if (was + 1 == (part ? part : 1))
        manager_ask(m);
}

/* Nobody wants its result: it need not run. */
static void send_home(struct manager *m, struct task *t)
{
    struct home *h = m->tasks->homes[t->home];
    TRACE(m->activator, "manager", 0, "drop task %llu", (unsigned long long)t->number);
    if (t->caller)
        blocking_return(t->caller, t);
    else if (h->activator == m->activator)
        home_receive(h, t);
    else
        lane_push(&m->out[t->home], &t->item);
}

static void drop(struct manager *m, struct task *t)
{
    manager_dismiss(m, t->method->handler->kind);
    send_home(m, t);
}

static void note_executor(struct task *t, struct executor *e)
{
    if (__builtin_expect(task_is(t, TASK_ATTEMPT), 0))
        t->attempt->executor = e;
}

static void enqueue(struct manager *m, struct task *t)
{
    struct manager_kind *k = &m->kinds[kind_index(t->method->handler->kind)];
    if (task_flagged(t)) {
        drop(m, t);
    } else if (task_is(t, TASK_RETURNED)) {
        task_unmark(t, TASK_RETURNED);
        note_executor(t, NULL);
        queue_push_front(&k->queue, t);
    } else {
        m->sequence++;
        queue_push(&k->queue, t);
    }
}

/* True: nothing is left in it. */
static bool take_inlet(struct manager *m, struct lane *l)
{
    int budget = INLET_BUDGET;
    for (; budget > 0; budget--) {
        struct lane_item *item = lane_take(l);
        if (!item)
            break;
        enqueue(m, ao_of(item, struct task, item));
    }
    lane_release(l);
    return budget > 0;
}

static void take_inbox(struct manager *m)
{
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&m->inbox); item; item = next) {
        next = item->next;
        struct task *t = ao_of(item, struct task, inbox);
        if (t->submitted && t->call_index == CALL_NONE && !home_adopt(&m->home, t))
            continue;
        enqueue(m, t);
    }
}

/* Through which doors a task fits, and how far beyond the bound: an open stepped executor
 * always takes a nested call, since its room may be held by those who wait for such calls. */
static uint32_t room_for(const struct executor *e, bool nested, uint32_t bound)
{
    switch ((enum executor_accepting)atomic_load_explicit(&e->accepting, memory_order_relaxed)) {
    case ACCEPTS_ALL:
        return nested && e->plan.kind == ERGON_STEPPED ? UINT32_MAX : bound;
    case ACCEPTS_NESTED:
        return nested ? 1 : 0;
    case ACCEPTS_NONE:
        return 0;
    }
    return 0;
}

/* The bounds that count for nested calls, or for the others: until they are asked for again. */
static void set_bounds(struct manager_kind *k, bool nested)
{
    for (uint32_t i = 0; i < k->count; i++)
        k->snapshots[i].bound =
            room_for(k->executors[i], nested, (uint32_t)counter_read(&k->executors[i]->bound));
    k->bounds_nested = nested;
}

static void scan(struct manager_kind *k)
{
    for (uint32_t i = 0; i < k->count; i++) {
        struct executor *e = k->executors[i];
        executor_snapshot(e, &k->snapshots[i]);
        counter_set(&e->bound, k->snapshots[i].bound);
    }
    set_bounds(k, false);
}

static int home_executor(const struct manager *m, const struct manager_kind *k,
                         const struct task *t)
{
    if (k->count == 1) /* nothing to prefer */
        return PLACEMENT_NONE;
    const struct home *h = m->tasks->homes[t->home];
    for (uint32_t i = 0; h->own && !t->caller && i < k->count; i++)
        if (k->executors[i] == &h->own->base)
            return (int)i;
    return PLACEMENT_NONE;
}

/* `t` NULL: a job. */
static int choose(struct manager *m, struct manager_kind *k, const struct task *t)
{
    bool nested = t && t->depth > 0;
    if (nested != k->bounds_nested)
        set_bounds(k, nested);
    return placement_choose(m->tasks->plan.policy, k->snapshots, k->count,
                            t ? home_executor(m, k, t) : PLACEMENT_NONE, k->last);
}

static void trace_give(struct manager *m, const struct manager_kind *k, const struct task *t,
                       const struct executor *e)
{
    char loads[128];
    int at = 0;
    for (uint32_t i = 0; i < k->count && at < (int)sizeof loads - 12; i++)
        at += snprintf(loads + at, sizeof loads - (size_t)at, " %u", k->snapshots[i].outstanding);
    TRACE(m->activator, "manager", 0, "task %llu -> executor %u (loads%s)",
          (unsigned long long)t->number, e->index + 1, loads);
}

static void give(struct manager *m, struct manager_kind *k, int chosen, struct task *t)
{
    struct executor *e = k->executors[chosen];
    if (__builtin_expect(activator_trace(m->activator) != NULL, 0))
        trace_give(m, k, t, e);
    t->given = k->snapshots[chosen].outstanding == 0 ? activator_now(m->activator) : 0;
    k->snapshots[chosen].outstanding++;
    k->last = chosen;
    uint32_t given = atomic_load_explicit(&e->given, memory_order_relaxed) + 1;
    atomic_store_explicit(&e->given, given, memory_order_relaxed);
    note_executor(t, e);
    lane_push(&e->in, &t->item);
}

/* Drops what nobody wants any more, until one is to be given: the first, or NULL. */
static const struct task *first_wanted(struct manager *m, struct manager_kind *k, int *budget)
{
    const struct task *t;
    for (; *budget > 0 && (t = queue_first(&k->queue)); --*budget) {
        if (!task_flagged(t))
            return t;
        drop(m, queue_pop(&k->queue));
    }
    return NULL;
}

static uint32_t places(struct manager_kind *k)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < k->count; i++)
        if (k->snapshots[i].bound > k->snapshots[i].outstanding)
            room += k->snapshots[i].bound - k->snapshots[i].outstanding;
    return room;
}

/* Without a place the source is not asked: it waits for one as the queue does. */
static bool source_waits(struct manager *m, struct manager_kind *k)
{
    uint32_t room = k->source_has_work ? places(k) : 0;
    return k->source_has_work && (room == 0 || job_source_ready(m, k, room));
}

/* Is the next to be given a job?  They and the queue take turns, but for nested calls. */
static bool kept_is_next(const struct manager_kind *k, const struct task *t)
{
    return !t || (t->depth == 0 && k->kept_next);
}

/* Gives what fits, and counts it out at once: the lanes publish no earlier.  True: tasks are left,
 * and nobody has room for the first. */
static bool give_all(struct manager *m, struct manager_kind *k, int *budget)
{
    const struct task *t;
    uint32_t given = 0;
    int chosen = 0;
    if (k->queue.length == 0 && !k->source_has_work)
        return false;
    scan(k);
    bool kept = source_waits(m, k);
    while ((t = first_wanted(m, k, budget)) || (kept && *budget > 0)) {
        bool of_source = kept && kept_is_next(k, t);
        if ((chosen = choose(m, k, of_source ? NULL : t)) == PLACEMENT_NONE)
            break;
        struct task *next = of_source ? job_source_take(m, k) : queue_pop(&k->queue);
        kept = kept && (next || !of_source);
        if (!next)
            continue;
        give(m, k, chosen, next);
        given += !of_source;
        k->kept_next = !of_source;
        --*budget;
    }
    if (given > 0)
        dismiss(m, k->executors[0]->plan.kind, given);
    if (m->has_source)
        job_source_tell_full(m, k, chosen == PLACEMENT_NONE);
    return chosen == PLACEMENT_NONE;
}

/* See the head of this file. */
static void give_or_wait(struct manager *m, struct manager_kind *k, int *budget)
{
    if (!give_all(m, k, budget))
        return;
    waker_announce(&k->waiting_for_room); /* M1 */
    if (!give_all(m, k, budget))          /* M2 */
        waker_retract(&k->waiting_for_room);
}

static void sweep(struct manager *m)
{
    uint32_t part = m->tasks->plan.queue_max / SWEEP_PART;
    if (atomic_load_explicit(&m->flagged, memory_order_relaxed) < (part ? part : 1))
        return;
    atomic_store_explicit(&m->flagged, 0, memory_order_relaxed);
    for (unsigned i = 0; i < KINDS; i++) {
        struct task *next;
        for (struct task *t = queue_sweep(&m->kinds[i].queue); t; t = next) {
            next = t->next;
            drop(m, t);
        }
    }
}

static bool all_quiet(struct manager *m)
{
    for (uint32_t i = 0; i < m->tasks->home_count; i++)
        if (!atomic_load_explicit(&m->tasks->homes[i]->quiet, memory_order_acquire))
            return false;
    return mpsc_empty(&m->inbox) && m->kept_out == 0;
}

/* Each home obeys on its own thread; the last that falls quiet asks the manager. */
static void pass_on(struct manager *m)
{
    struct tasks *tasks = m->tasks;
    uint32_t stop_requests = atomic_load_explicit(&tasks->stop_requests, memory_order_acquire);
    if (stop_requests == m->stop_requests)
        return;
    job_source_stop(m, (stop_requests | STOP_DRAINS) != (m->stop_requests | STOP_DRAINS));
    m->stop_requests = stop_requests;
    for (uint32_t i = 0; i < tasks->home_count; i++)
        home_ask(tasks->homes[i]);
}

static void see_to_drain_of_kept(struct manager *m)
{
    struct tasks *tasks = m->tasks;
    if (m->kept_told || !(m->stop_requests & STOP_DRAIN_KEPT) || m->kept_out > 0)
        return;
    m->kept_told = true;
    tasks->kept_drained(tasks->kept_drained_arg);
}

static void see_to_drain(struct manager *m)
{
    struct tasks *tasks = m->tasks;
    see_to_drain_of_kept(m);
    if (m->told || !(m->stop_requests & STOP_DRAIN) || !all_quiet(m))
        return;
    m->told = true;
    if (tasks->drained)
        tasks->drained(tasks->drained_arg);
}

static enum ao_verdict manager_step(struct ao *self)
{
    struct manager *m = ao_of(self, struct manager, ao);
    int budget = GIVE_BUDGET;
    bool empty = true;
    pass_on(m);
    for (uint32_t i = 0; i < m->inlet_count; i++)
        empty &= take_inlet(m, m->inlets[i]);
    take_inbox(m);
    job_source_take_notes(m);
    sweep(m);
    m->woken = false;
    for (unsigned i = 0; i < KINDS; i++)
        give_or_wait(m, &m->kinds[i], &budget);
    see_to_drain(m);
    return empty && budget > 0 && !m->woken ? AO_DONE : AO_AGAIN;
}

const struct ao_class manager_class = {.name = "manager", .step = manager_step};
