/* Why the manager never sleeps on a queued task beside a free executor.
 *
 *   manager, all executors of a pool full     executor, a task has left
 *     announce that it waits      (M1)          left = ...            (E1)
 *     scan the counters again     (M2)          notify a waiter       (E2)
 *     room: retract, go on                      announced: ask the manager
 *     none: inactive
 *
 * It is the protocol of waker.c, with the counters as inputs and an ask as the wake: M1 stores and
 * fences before M2 loads, E1 stores before E2 fences and loads.  So M2 sees the task that left, or
 * E2 sees the announcement.  An ask that comes before the manager has gone inactive makes it active
 * again.  tests/model/manager.pml checks it with store buffers.
 *
 * The scan is look() of the pool's class.  Executors without counters that others write, as those
 * of worker groups, report to the inbox: worker_update.h has the argument for these. */
#include "server/tasks/manager/manager.h"

#include <stdlib.h>

#include "base/tracepoint.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/manager/stalls.h"
#include "server/tasks/task.h"
#include "server/tasks/worker_system.h"

enum {
    INLET_BUDGET = 256, /* tasks of one lane, a step */
    GIVE_BUDGET = 512,  /* tasks given, a step */
    ASIDE_BUDGET = 64,  /* lines set aside, a pass or a step of one */
    SWEEP_BUDGET = 512, /* tasks of one queue looked at whether somebody wants them, a step */
    LANE_IN = 1024,     /* tasks on their way from one home; more overflow */
    LANE_OUT = 64       /* flagged tasks on their way to one home; more overflow */
};

static void enqueue(struct manager *m, struct task *t)
{
    struct pool *p = t->method->pool;
    assert(!task_is(t, TASK_RETURNED) || t->executor);
    if (task_flagged(t)) {
        manager_drop(m, t);
        return;
    }
    if (task_is(t, TASK_MESSAGE)) {
        job_source_call(m, t);
        return;
    }
    if (task_is(t, TASK_RETURNED)) {
        task_clear(t, TASK_RETURNED);
        t->executor = NULL;
        task_queue_push_front(&p->queue, t);
    } else {
        task_queue_push(&p->queue, t);
    }
    TRACEPOINT3(queue, t->number, t->method->name.at, t->method->name.len);
    pool_mark_ready(p);
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
    for (struct mpsc_item *item = mpsc_take(&m->shared->inbox.tasks); item; item = next) {
        next = item->next;
        struct task *t = ao_of(item, struct task, inbox);
        if (t->added && t->call_index == CALL_NONE && !home_adopt(&m->home, t))
            continue;
        enqueue(m, t);
    }
}

/* Drops what nobody wants any more, until one is to be given: the first, or NULL. */
static inline const struct task *first_wanted(struct manager *m, struct pool *p, int *budget)
{
    const struct task *t;
    for (; *budget > 0 && (t = task_queue_first(&p->queue)); --*budget) {
        if (!task_flagged(t))
            return t;
        manager_drop(m, task_queue_pop(&p->queue));
    }
    return NULL;
}

/* Without room the source is not asked: it waits for room as the queue does. */
static inline bool source_waits(struct manager *m, struct pool *p)
{
    uint32_t room = p->source_has_work ? p->cls->room(m, p) : 0;
    return p->source_has_work && (room == 0 || job_source_ready(m, p, room));
}

/* Is the next to be given a job?  They and the queue take turns, but for nested calls. */
static inline bool job_is_next(const struct pool *p, const struct task *t)
{
    return !t || (t->depth == 0 && p->job_next);
}

/* The next of the queue, or of the source.  NULL: the source has none after all, and `jobs` is
 * false from now on. */
static inline struct task *take_next(struct manager *m, struct pool *p, bool of_source, bool *jobs)
{
    if (of_source) {
        struct task *t = job_source_take(m, p);
        *jobs = t != NULL;
        return t;
    }
    struct task *t = task_queue_pop(&p->queue);
    manager_dismiss_of(t->tally); /* while the task is ours */
    return t;
}

/* What a pass through the queue has come to. */
enum pass {
    PASS_DONE, /* no task was found without room */
    PASS_FULL, /* tasks are left, and nobody has room for those at the heads of the lines */
    PASS_CUT   /* so many lines were set aside, and stay there: it goes on in the next step */
};

/* A pass ends: `given` tasks of its queue left it; `aside`: as many lines as may be were set aside;
 * `full`: a task found no room. */
static inline enum pass end_pass(struct manager *m, struct pool *p, uint32_t given, bool aside,
                                 bool full)
{
    p->cut = aside && task_queue_first(&p->queue);
    if (!p->cut)
        task_queue_bring_back(&p->queue);
    if (given > 0)
        manager_dismiss(&m->shared->inbox, p, given);
    bool waits = p->cls->waits(m, p, p, full);
    if (m->shared->has_source)
        job_source_tell_full(m, p, waits);
    return p->cut ? PASS_CUT : waits ? PASS_FULL : PASS_DONE;
}

/* Gives what fits, and counts it out at once: the lanes publish no earlier.  A line whose first
 * finds no room is set aside, so that others may; so many a step, however many wait, and each once
 * a pass, so that those behind have their look. */
static enum pass give_all(struct manager *m, struct pool *p, int *budget)
{
    const struct pool_class *cls = p->cls;
    const struct task *t;
    uint32_t given = 0, aside = 0;
    bool full = p->cut, goes_on = true;
    if (!pool_has_tasks(p))
        return end_pass(m, p, 0, false, false);
    cls->look(m, p, full, budget);
    bool jobs = source_waits(m, p);
    while (goes_on && aside < ASIDE_BUDGET &&
           ((t = first_wanted(m, p, budget)) || (jobs && *budget > 0))) {
        bool of_source = jobs && job_is_next(p, t);
        assert(!of_source || !m->jobs_stopped);
        const struct task *wanted = of_source ? NULL : t;
        struct executor *e = cls->choose(m, p, wanted);
        if (!e) {
            full = true;
            if (!cls->pass_over(p, wanted))
                break;
            if (of_source)
                jobs = false;
            else
                task_queue_set_aside(&p->queue);
            aside += !of_source;
            continue;
        }
        struct task *next = take_next(m, p, of_source, &jobs);
        if (!next)
            continue;
        goes_on = cls->give(m, p, e, next, budget);
        given += !of_source;
        p->job_next = !of_source;
    }
    return end_pass(m, p, given, aside == ASIDE_BUDGET, full);
}

/* See the head of this file.  A pass may take several steps; the one behind the announcement counts
 * only if the announcement was kept all the while: the executor that has taken it may have room for
 * a line that was looked at before.  An announcement that several pools share is retracted by the
 * pool whose executors they are; what_waits_is_announced() looks after the others. */
static void give_or_wait(struct manager *m, struct pool *p, int *budget)
{
    struct waker *waiting = p->waiting;
    assert(waiting || !p->cut); /* only tasks of local executors set lines aside */
    bool announced = p->second_look && waker_announced(waiting);
    enum pass pass = give_all(m, p, budget);
    if (pass == PASS_FULL && waiting && !announced) {
        waker_announce(waiting); /* M1 */
        announced = true;
        pass = give_all(m, p, budget); /* M2 */
    }
    if (pass == PASS_DONE && announced && waiting == &p->waiting_for_room)
        waker_retract(waiting);
    p->second_look = announced && pass == PASS_CUT;
    p->short_of_room = pass == PASS_FULL;
    if (p->cls->looked)
        p->cls->looked(m, p);
}

/* At the end of a step, where pools share executors.  False: a pool waits for executors, and is not
 * announced any more, since another pool that waited for them has retracted. */
static bool what_waits_is_announced(const struct manager *m)
{
    const struct pool *p;
    bool all = true;
    STAILQ_FOREACH(p, &m->ready, next)
    all &= !p->short_of_room || waker_announced(p->waiting);
    return all;
}

/* Executors that several pools want are theirs in turn: the pool that was first and was given
 * something is the last the next time. */
static void take_turns(struct manager *m, const struct pool *first)
{
    struct pool *p = STAILQ_FIRST(&m->ready);
    if (!p || p != first)
        return;
    STAILQ_REMOVE_HEAD(&m->ready, next);
    STAILQ_INSERT_TAIL(&m->ready, p, next);
}

/* Pools in turn, each until its turn ends, and again while the budget lasts.  A pool that is in
 * line for executors is listed only to be swept.  True: nothing is left that could be given now. */
static bool give_in_turn(struct manager *m)
{
    struct pool_list swept = STAILQ_HEAD_INITIALIZER(swept);
    struct pool *p;
    int budget = GIVE_BUDGET;
    while (budget > 0 && (p = STAILQ_POP(&m->in_turn, next))) {
        assert(p->ready && p->turn == &m->in_turn);
        p->ready = false;
        if (!p->in_line)
            give_or_wait(m, p, &budget);
        if (!p->ready && task_queue_sweeping(&p->queue)) {
            p->ready = true;
            STAILQ_INSERT_TAIL(&swept, p, next);
        }
    }
    bool all = STAILQ_EMPTY(&m->in_turn);
    STAILQ_CONCAT(&m->in_turn, &swept);
    return all;
}

/* True: some are not done. */
static bool sweep_in(struct manager *m, const struct pool_list *list, bool begins)
{
    struct pool *p;
    bool any = false;
    STAILQ_FOREACH(p, list, next)
    {
        struct task *next;
        if (begins)
            task_queue_begin_sweep(&p->queue);
        for (struct task *t = task_queue_sweep(&p->queue, SWEEP_BUDGET); t; t = next) {
            next = t->next;
            manager_drop(m, t);
        }
        any |= task_queue_sweeping(&p->queue);
    }
    return any;
}

/* True: it is not over. */
static bool sweep(struct manager *m)
{
    bool begins = !m->sweeps && manager_take_flagged(&m->shared->inbox);
    if (!m->sweeps && !begins)
        return false;
    if (begins && m->workers)
        m->workers->sweep(m);
    bool any = sweep_in(m, &m->ready, begins);
    any |= sweep_in(m, &m->in_turn, begins);
    m->sweeps = any;
    return any;
}

/* Each home cancels its calls on its own thread. */
static void act_on_stop_requests(struct manager *m)
{
    const struct manager_inbox *in = &m->shared->inbox;
    uint32_t requests = atomic_load_explicit(&in->stop_requests, memory_order_acquire);
    if (requests == m->stop_requests)
        return;
    job_source_stop(m, (requests | STOP_DRAIN_JOBS) != (m->stop_requests | STOP_DRAIN_JOBS));
    m->stop_requests = requests;
    for (uint32_t i = 0; i < m->home_count; i++)
        home_ask(m->homes[i]);
}

static void see_to_drain(struct manager *m)
{
    if (m->jobs_drained_told || !(m->stop_requests & STOP_DRAIN_JOBS) || m->attempts_out > 0)
        return;
    assert(m->jobs_drained);
    m->jobs_drained_told = true;
    m->jobs_drained(m->jobs_drained_arg);
}

/* Each that has something to do, in turn: where the budget does not suffice, the next step begins
 * with those that were not looked at.  True: nothing is left that could be given now. */
static bool give_of_all(struct manager *m)
{
    struct pool_list round = STAILQ_HEAD_INITIALIZER(round);
    const struct pool *first = STAILQ_FIRST(&m->ready), *served = NULL;
    struct pool *p;
    int budget = GIVE_BUDGET;
    bool cut = false;
    STAILQ_CONCAT(&round, &m->ready);
    while (budget > 0 && (p = STAILQ_POP(&round, next))) {
        assert(p->ready && p->turn == &m->ready);
        p->ready = false;
        give_or_wait(m, p, &budget);
        if (p == first && budget < GIVE_BUDGET)
            served = p;
        cut |= p->cut;
        if (pool_has_work(p))
            pool_mark_ready(p);
    }
    STAILQ_CONCAT(&round, &m->ready);
    STAILQ_CONCAT(&m->ready, &round);
    if (m->joined > 0 && served)
        take_turns(m, served);
    return budget > 0 && !cut;
}

static enum ao_verdict manager_step(struct ao *self)
{
    struct manager *m = ao_of(self, struct manager, ao);
    bool empty = true;
    act_on_stop_requests(m);
    for (uint32_t i = 0; i < m->inlet_count; i++)
        empty &= take_inlet(m, m->inlets[i]);
    take_inbox(m);
    job_source_take_returns(m);
    bool updated = !m->workers || m->workers->take(m);
    bool swept = !sweep(m);
    m->source_woken = false;
    bool given = give_of_all(m);
    given &= STAILQ_EMPTY(&m->in_turn) || give_in_turn(m);
    given &= m->joined == 0 || what_waits_is_announced(m);
    given &= !m->workers || m->workers->rest(m);
    see_to_drain(m);
    bool idle = empty && updated && swept && given && !m->source_woken && !m->home.returned;
    return idle ? AO_DONE : AO_AGAIN;
}

static const struct ao_class manager_class = {.name = "manager", .step = manager_step};

static enum ao_verdict max_wait_step(struct ao *self)
{
    ao_activate(&ao_of(self, struct manager, max_wait)->ao);
    return AO_DONE;
}

static const struct ao_class max_wait_class = {.name = "patience", .step = max_wait_step};

int manager_init(struct manager *m, struct tasks_shared *shared)
{
    m->shared = shared;
    STAILQ_INIT(&m->ready);
    STAILQ_INIT(&m->in_turn);
    m->workers = shared->plan.workers;
    m->activator = shared->plan.manager;
    ao_init(&m->ao, &manager_class, m->activator);
    ao_init(&m->max_wait, &max_wait_class, m->activator);
    stalls_init(m);
    for (unsigned i = 0; i < POOLS_LOCAL; i++) {
        const struct pool_class *cls = i == POOL_STEPPED ? &pool_of_loops : &pool_of_threads;
        if (!(shared->local[i] = pools_add(m, cls, shared->plan.executor_count)))
            return -1;
    }
    shared->local[POOL_STEPPED]->stepped = true;
    return manager_inbox_init(&shared->inbox, &m->ao, m->activator, shared->plan.queue_max);
}

static int connect_homes(struct manager *m)
{
    m->inlets = calloc(m->home_count, sizeof(struct lane *));
    m->out = task_lanes_new(m->home_count);
    if (!m->inlets || !m->out)
        return -1;
    for (uint32_t i = 0; i < m->home_count; i++) {
        struct home *h = m->homes[i];
        if (h == &m->home)
            continue;
        if (lane_init(&h->to_manager, LANE_IN, h->activator, &m->ao) != 0)
            return -1;
        m->inlets[m->inlet_count++] = &h->to_manager;
        if (h->activator != m->activator &&
            home_add_inlet(h, &m->out[i], LANE_OUT, m->activator) != 0)
            return -1;
    }
    return 0;
}

int manager_connect(struct manager *m, struct home **homes, uint32_t count)
{
    assert(count == shared_homes(m->shared));
    m->homes = homes;
    m->home_count = count;
    if (m->workers && m->workers->open(m) != 0)
        return -1;
    for (unsigned i = 0; i < POOLS_LOCAL; i++)
        if (pool_connect(m->pools[i], m->shared->plan.policy) != 0)
            return -1;
    return connect_homes(m);
}

void manager_fini(struct manager *m)
{
    struct task *t;
    if (m->workers)
        m->workers->close(m);
    for (uint32_t i = 0; i < m->pool_count; i++)
        pool_free(m->pools[i]);
    free(m->pools);
    while ((t = home_take_returned(&m->home)))
        task_discard(t);
    job_source_free_notes(m);
    task_lanes_free(m->out, m->home_count);
    free(m->inlets);
    manager_inbox_fini(&m->shared->inbox);
    if (ao_state(&m->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&m->ao);
    ao_fini(&m->ao);
    ao_deactivate(&m->max_wait);
    ao_fini(&m->max_wait);
    stalls_fini(m);
}
