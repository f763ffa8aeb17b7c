/* Why the manager never sleeps on a queued task beside a free executor.
 *
 *   manager, all executors of a pool full     executor, a task has left
 *     announce that it waits      (M1)          left = ...            (E1)
 *     scan the counters again     (M2)          notify who waits      (E2)
 *     room: retract, go on                      announced: ask the manager
 *     none: inactive
 *
 * It is the protocol of waker.c, with the counters as inputs and an ask as the wake: M1 stores and
 * fences before M2 loads, E1 stores before E2 fences and loads.  So M2 sees the task that left, or
 * E2 sees the announcement.  An ask that comes before the manager has gone inactive makes it active
 * again.  tests/model/manager.pml checks it with store buffers. */
#include "server/tasks/manager/manager.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tracepoint.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/executors/parking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/manager/executor_owner.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/manager/stalls.h"
#include "server/tasks/manager/weights.h"
#include "server/tasks/task_lanes.h"
#include "server/tasks/task_name.h"
#include "server/tasks/task_result.h"
#include "server/workers/worker_group.h"
#include "server/workers/worker_update.h"

enum {
    INLET_BUDGET = 256, /* tasks of one lane, a step */
    GIVE_BUDGET = 512,  /* tasks given, a step */
    ASIDE_BUDGET = 64,  /* lines set aside, a pass or a step of one */
    SWEEP_BUDGET = 512, /* tasks of one queue looked at whether somebody wants them, a step */
    LANE_IN = 1024,     /* tasks on their way from one home; more overflow */
    LANE_OUT = 64       /* flagged tasks on their way to one home; more overflow */
};

/* Nobody wants its result: it need not run. */
static void send_home(struct manager *m, struct task *t)
{
    struct home *h = m->homes[t->home];
    TRACE(m->activator, "manager", 0, "drop task %llu", (unsigned long long)t->number);
    task_pass(t, TASK_OF_MANAGER, TASK_OF_HOME);
    if (t->caller)
        executor_return(t->caller, t);
    else if (h->activator == m->activator)
        home_receive(h, t);
    else
        lane_push(&m->out[t->home], &t->item);
}

static void drop(struct manager *m, struct task *t)
{
    manager_dismiss(&m->shared->inbox, t->method->pool, 1);
    manager_dismiss_of(t->tally);
    send_home(m, t);
}

static void enqueue(struct manager *m, struct task *t)
{
    struct pool *p = t->method->pool;
    if (task_flagged(t)) {
        drop(m, t);
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
    manager_stir(m, p);
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

/* Callers wait for the answer of a call, so calls are begun beside any number of those that take
 * turns. Jobs have a queue to wait in: beyond a point one more would only slow down the others. */
static bool turns_full(const struct executor *e)
{
    return e->plan.turns > 0 && counter_read(&e->turning_jobs) >= e->plan.turns;
}

/* `t` NULL: for a job. */
static bool place_for(const struct pool *p, uint32_t i, const struct task *t)
{
    if (p->owners)
        return executor_owner_allow(p, i, t);
    return parking_for(p->group.list[i], t ? t->tally : NULL, !t);
}

/* How many tasks of this sort it accepts: a stepped executor always takes a nested call, beyond its
 * bound, since its room may be held by tasks that wait for such calls.  One whose loop is away
 * accepts none: what was in its lane before waits there, for nobody else can take it. */
static inline uint32_t room_for(const struct pool *p, uint32_t i, enum giving what,
                                const struct task *t)
{
    const struct executor *e = p->group.list[i];
    uint32_t bound = (uint32_t)counter_read(&e->bound);
    if (atomic_load_explicit(&e->away, memory_order_relaxed))
        return 0;
    switch ((enum executor_accepting)atomic_load_explicit(&e->accepting, memory_order_relaxed)) {
    case ACCEPTS_ALL:
        if (what == GIVE_JOB && (turns_full(e) || !place_for(p, i, NULL)))
            return 0;
        if (what == GIVE_PLACE && !place_for(p, i, t))
            return 0;
        if (what == GIVE_NESTED && p->owners)
            return executor_owner_allow_nested(p, i, t) ? bound : 0;
        return what == GIVE_NESTED ? UINT32_MAX : bound;
    case ACCEPTS_NESTED:
        return what == GIVE_NESTED ? 1 : 0;
    case ACCEPTS_NONE:
        return 0;
    }
    return 0;
}

/* The manager looks again when it has waited for long enough. */
static void arm_max_wait(struct manager *m, ao_time until)
{
    if (until == AO_NEVER)
        return;
    ao_deactivate(&m->max_wait);
    ao_sleep_until(&m->max_wait, until);
}

/* The bounds that count for what is given now: until they are asked for again.  `t` of GIVE_PLACE
 * and GIVE_NESTED. */
static inline void set_bounds(struct manager *m, struct pool *p, enum giving what,
                              const struct task *t)
{
    for (uint32_t i = 0; i < p->count; i++) {
        p->snapshots[i].bound = room_for(p, i, what, t);
        p->snapshots[i].awaited =
            p->weights && what != GIVE_NESTED && weights_await(p, i, activator_now(m->activator));
    }
    p->bounds_for = what;
}

static inline void scan(struct manager *m, struct pool *p)
{
    if (p->owners)
        p->count = atomic_load_explicit(&m->shared->blocking_reach, memory_order_relaxed);
    p->common = p->owners ? atomic_load_explicit(&m->shared->blocking_common, memory_order_relaxed)
                          : p->count;
    p->turns_full = false;
    p->places_full = false;
    for (uint32_t i = 0; i < p->count; i++) {
        struct executor *e = p->group.list[i];
        executor_snapshot(e, &p->snapshots[i]);
        counter_set(&e->bound, p->snapshots[i].bound);
        p->turns_full |= turns_full(e);
        p->places_full |= !p->owners && !parking_free(e);
    }
    if (p->owners) {
        stalls_bound(p);
        p->places_full = executor_owners_matter(p);
    }
    if (p->weights)
        weights_look(p, activator_now(m->activator));
    set_bounds(m, p, GIVE_CALL, NULL);
}

static inline int home_executor(const struct manager *m, const struct pool *p, const struct task *t)
{
    if (p->count == 1) /* nothing to prefer */
        return PLACEMENT_NONE;
    const struct home *h = m->homes[t->home];
    for (uint32_t i = 0; h->own && !t->caller && i < p->count; i++)
        if (p->group.list[i] == &h->own->base)
            return (int)i;
    return PLACEMENT_NONE;
}

/* `t` NULL: a job.  For jobs the bounds are those of calls, but where their turns or the places are
 * full. */
static inline enum giving what_is(const struct pool *p, const struct task *t)
{
    if (!t)
        return p->turns_full || p->places_full ? GIVE_JOB : GIVE_CALL;
    if (t->depth > 0)
        return GIVE_NESTED;
    bool place = p->places_full &&
                 (p->owners || atomic_load_explicit(&t->method->wants_place, memory_order_relaxed));
    return place ? GIVE_PLACE : GIVE_CALL;
}

static inline int choose(struct manager *m, struct pool *p, const struct task *t)
{
    enum giving what = what_is(p, t);
    bool of_this_one = what == GIVE_PLACE || what == GIVE_JOB || (what == GIVE_NESTED && p->owners);
    if (what != p->bounds_for || of_this_one)
        set_bounds(m, p, what, t);
    return placement_choose(m->shared->plan.policy, p->snapshots, p->count,
                            t ? home_executor(m, p, t) : PLACEMENT_NONE, p->last);
}

static void trace_give(struct manager *m, const struct pool *p, const struct task *t,
                       const struct executor *e)
{
    char loads[128];
    int at = 0;
    for (uint32_t i = 0; i < p->count && at < (int)sizeof loads - 12; i++)
        at += snprintf(loads + at, sizeof loads - (size_t)at, " %u", p->snapshots[i].outstanding);
    TRACE(m->activator, "manager", 0, "task %llu -> executor %u (loads%s)",
          (unsigned long long)t->number, e->index + 1, loads);
}

/* Here the number of an attempt meets the id of its task. */
static void tell_give(const struct task *t, const struct executor *e)
{
    uint64_t of = task_is(t, TASK_ATTEMPT) ? t->attempt->id : 0;
    char id[TASK_NAME_MAX] = "";
    if (of != 0)
        task_name(e->shared, t->number, of, id);
    TRACEPOINT6(give, t->number, t->method->name.at, t->method->name.len, e->index, of, &id[0]);
}

static inline void give(struct manager *m, struct pool *p, int chosen, struct task *t)
{
    struct executor *e = p->group.list[chosen];
    if (tracepoint_watched(give))
        tell_give(t, e);
    if (__builtin_expect(activator_trace(m->activator) != NULL, 0))
        trace_give(m, p, t, e);
    t->given = p->snapshots[chosen].outstanding == 0 ? activator_now(m->activator) : 0;
    p->snapshots[chosen].outstanding++;
    if (p->weights)
        weights_note(p, chosen);
    if (p->owners) {
        executor_owner_note(m, p, chosen, t);
        stalls_note(m, p, chosen);
    }
    p->last = chosen;
    uint32_t given = atomic_load_explicit(&e->given, memory_order_relaxed) + 1;
    atomic_store_explicit(&e->given, given, memory_order_relaxed);
    t->executor = e;
    task_pass(t, TASK_OF_MANAGER, TASK_OF_EXECUTOR);
    lane_push(e->in, &t->item);
}

/* Drops what nobody wants any more, until one is to be given: the first, or NULL. */
static inline const struct task *first_wanted(struct manager *m, struct pool *p, int *budget)
{
    const struct task *t;
    for (; *budget > 0 && (t = task_queue_first(&p->queue)); --*budget) {
        if (!task_flagged(t))
            return t;
        drop(m, task_queue_pop(&p->queue));
    }
    return NULL;
}

/* For jobs. */
static uint32_t places(struct manager *m, struct pool *p)
{
    uint32_t room = 0;
    if (what_is(p, NULL) == GIVE_JOB)
        set_bounds(m, p, GIVE_JOB, NULL);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->snapshots[i].bound > p->snapshots[i].outstanding)
            room += p->snapshots[i].bound - p->snapshots[i].outstanding;
    return room;
}

/* Without a place the source is not asked: it waits for one as the queue does. */
static inline bool source_waits(struct manager *m, struct pool *p)
{
    uint32_t room = p->source_has_work ? places(m, p) : 0;
    return p->source_has_work && (room == 0 || job_source_ready(m, p, room));
}

/* Is the next to be given a job?  They and the queue take turns, but for nested calls. */
static inline bool job_is_next(const struct pool *p, const struct task *t)
{
    return !t || (t->depth == 0 && p->job_next);
}

/* There is no room for this one (NULL: a job); may there be for what comes behind it?  Where turns
 * or places are full there is room for tasks that want none, and for principals that have few. */
static bool others_may_fit(const struct pool *p, const struct task *t)
{
    enum giving what = what_is(p, t);
    if (p->owners && p->count == p->common)
        return false;
    return what == GIVE_JOB || what == GIVE_PLACE;
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

/* A pass of `p` ends, to executors of `of`: `given` tasks of its queue left it; `aside`: as many
 * lines as may be were set aside; `full`: a task found no room. */
static inline enum pass end_pass(struct manager *m, struct pool *p, const struct pool *of,
                                 uint32_t given, bool aside, bool full)
{
    p->cut = aside && task_queue_first(&p->queue);
    if (!p->cut)
        task_queue_bring_back(&p->queue);
    if (given > 0)
        manager_dismiss(&m->shared->inbox, p, given);
    if (m->shared->has_source)
        job_source_tell_full(m, p, full);
    if (full && of->weights)
        arm_max_wait(m, weights_max_wait(of));
    if (full && of->owners)
        arm_max_wait(m, executor_owner_wait(m, p));
    else
        executor_owner_serve(m, p);
    return p->cut ? PASS_CUT : full ? PASS_FULL : PASS_DONE;
}

static void give_to_worker(struct manager *m, struct pool *p, struct worker_executor *r,
                           struct task *t)
{
    struct executor *e = &r->base;
    uint32_t given = atomic_load_explicit(&e->given, memory_order_relaxed) + 1;
    TRACE(m->activator, "manager", 0, "task %llu -> worker %u (has %u of %u)",
          (unsigned long long)t->number, e->index, r->member.load.outstanding,
          r->member.load.slots);
    worker_groups_note_given(m, p, r);
    r->member.attempts += task_is(t, TASK_ATTEMPT);
    atomic_store_explicit(&e->given, given, memory_order_relaxed);
    t->executor = e;
    task_pass(t, TASK_OF_MANAGER, TASK_OF_EXECUTOR);
    lane_push(e->in, &t->item);
}

/* For jobs; see source_waits(). */
static bool joined_source_waits(struct manager *m, struct pool *p)
{
    uint64_t room = p->source_has_work ? (uint64_t)places(m, p->local) + worker_groups_room(p) : 0;
    uint32_t most = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
    return p->source_has_work && (room == 0 || job_source_ready(m, p, most));
}

/* The worker that is to have the next task rather than the executor that was chosen; NULL: none.
 * What others wait for in line is theirs, unless this pool was called from there. */
static struct worker_executor *rather_a_worker(const struct manager *m, const struct pool *p,
                                               int chosen)
{
    const struct worker_pool *s = p->workers;
    struct worker_executor *r = s->waits ? NULL : worker_groups_choose(p);
    if (!r || (!s->called && (!STAILQ_EMPTY(&m->serving) || worker_group_awaited(r))))
        return NULL;
    if (chosen == PLACEMENT_NONE)
        return r;
    return placement_worker_rather(&r->member.load, &p->local->snapshots[chosen]) ? r : NULL;
}

/* Gives what fits, and counts it out at once: the lanes publish no earlier.  A line whose first
 * finds no room is set aside, so that others may; so many a step, however many wait, and each once
 * a pass, so that those behind have their look.  `x` has the local executors: the pool itself, or,
 * where workers run the tasks, too, another; then each task goes to the least occupied.  Inline,
 * so that a pool without workers does not look for them. */
static inline __attribute__((always_inline)) enum pass make_pass(struct manager *m, struct pool *p,
                                                                 struct pool *x, int *budget)
{
    const struct task *t;
    uint32_t given = 0, aside = 0;
    bool full = x->passed_over = p->cut;
    p->cut = false;
    if (p->queue.length == 0 && !p->source_has_work) {
        executor_owner_serve(m, p);
        return PASS_DONE;
    }
    scan(m, x);
    bool jobs = x == p ? source_waits(m, p) : joined_source_waits(m, p);
    while (aside < ASIDE_BUDGET && ((t = first_wanted(m, p, budget)) || (jobs && *budget > 0))) {
        bool of_source = jobs && job_is_next(p, t);
        int chosen = choose(m, x, of_source ? NULL : t);
        struct worker_executor *r = x == p ? NULL : rather_a_worker(m, p, chosen);
        if (!r && chosen == PLACEMENT_NONE) {
            full = x->passed_over = true;
            if (!others_may_fit(x, of_source ? NULL : t))
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
        if (r) {
            p->workers->called = false;
            give_to_worker(m, p, r, next);
            *budget -= worker_groups_cost(p) - 1;
        } else {
            give(m, x, chosen, next);
        }
        given += !of_source;
        p->job_next = !of_source;
        --*budget;
    }
    return end_pass(m, p, x, given, aside == ASIDE_BUDGET, full);
}

static enum pass give_all(struct manager *m, struct pool *p, int *budget)
{
    return make_pass(m, p, p, budget);
}

static enum pass give_to_both(struct manager *m, struct pool *p, int *budget)
{
    return make_pass(m, p, p->local, budget);
}

/* See the head of this file.  A pass may take several steps; the one behind the announcement counts
 * only if the announcement was kept all the while: the executor that has taken it may have room for
 * a line that was looked at before. */
static void give_or_wait(struct manager *m, struct pool *p, int *budget)
{
    struct waker *waiting = &p->waiting_for_room;
    bool announced = p->second_look && waker_announced(waiting);
    enum pass pass = give_all(m, p, budget);
    if (pass == PASS_FULL && !announced) {
        waker_announce(waiting); /* M1 */
        announced = true;
        pass = give_all(m, p, budget); /* M2 */
    }
    if (pass == PASS_DONE && announced)
        waker_retract(waiting);
    p->second_look = announced && pass == PASS_CUT;
}

/* --- Workers --- */

/* The workers that offered the method have left, or are quiet.  Calls that were on their way here
 * meanwhile, and those that waited for room, are answered so.  Jobs wait in their own queue. */
static void answer_no_worker(struct manager *m, struct pool *p, int *budget)
{
    struct task *t;
    for (; *budget > 0 && (t = task_queue_pop(&p->queue)); --*budget) {
        task_fail(t, ERGON_E_NO_WORKER, NULL, span_text(error_meaning(ERGON_E_NO_WORKER)));
        drop(m, t);
    }
}

/* Without room the source is not asked. */
static bool source_wants(struct manager *m, struct pool *p)
{
    uint32_t room = p->source_has_work && !m->jobs_stopped ? worker_groups_room(p) : 0;
    return room > 0 && job_source_ready(m, p, room);
}

/* Until the tasks or the room are used up: then true; or, while others have something to do or wait
 * for the same workers, one task. */
static bool give_to_workers(struct manager *m, struct pool *p, int *budget)
{
    const struct task *t;
    uint32_t given = 0;
    bool full = false, awaited = false, jobs = source_wants(m, p);
    while (!awaited && ((t = first_wanted(m, p, budget)) || (jobs && *budget > 0))) {
        bool of_source = jobs && job_is_next(p, t);
        struct worker_executor *r = worker_groups_choose(p);
        full = !r;
        if (full)
            break;
        struct task *next = take_next(m, p, of_source, &jobs);
        if (!next)
            continue;
        awaited = !STAILQ_EMPTY(&m->serving) || worker_group_awaited(r);
        give_to_worker(m, p, r, next);
        given += !of_source;
        p->job_next = !of_source;
        *budget -= worker_groups_cost(p);
    }
    if (given > 0)
        manager_dismiss(&m->shared->inbox, p, given);
    return full;
}

/* --- Local executors and workers behind one name --- */

/* A pool that was called and took no worker passes the call on, and stays the first in line. */
static void wait_for_workers(struct manager *m, struct pool *p, bool was_called)
{
    struct worker_pool *s = p->workers;
    bool unserved = was_called && s->called;
    s->called = false;
    if (!pool_has_work(p))
        worker_groups_wait_no_more(m, p);
    else if (p->short_of_room && !s->waits && worker_groups_there(p))
        worker_groups_wait(m, p, unserved);
    if (was_called)
        worker_groups_call(m, p);
}

/* It waits for both: for local executors by their pool's announcement, which that pool may retract
 * (waits_in_vain()), for workers in line at their groups. */
static void give_to_both_or_wait(struct manager *m, struct pool *p, int *budget)
{
    struct waker *waiting = &p->local->waiting_for_room;
    bool was_called = p->workers->called;
    bool announced = (!p->cut || p->second_look) && waker_announced(waiting);
    enum pass pass = give_to_both(m, p, budget);
    if (pass == PASS_FULL && !announced) {
        waker_announce(waiting); /* M1 */
        announced = true;
        pass = give_to_both(m, p, budget); /* M2 */
    }
    p->second_look = announced && pass == PASS_CUT;
    p->short_of_room = pass == PASS_FULL;
    wait_for_workers(m, p, was_called);
}

/* At the end of a step: has a joined pool to look again?  Because a group has called it, or has
 * room that nobody takes; or since it waits for a local executor and is not announced any more. */
static bool waits_in_vain(struct manager *m)
{
    const struct pool *p;
    bool vain = false;
    STAILQ_FOREACH(p, &m->stirring, next)
    if (p->local) {
        vain |= p->short_of_room && !waker_announced(&p->local->waiting_for_room);
        if (p->workers->waits && STAILQ_EMPTY(&m->serving) && !m->called)
            worker_groups_call(m, p);
    }
    return vain || m->called;
}

/* Executors that several pools want are theirs in turn: the pool that was first and was given
 * something is the last the next time. */
static void take_turns(struct manager *m, const struct pool *first)
{
    struct pool *p = STAILQ_FIRST(&m->stirring);
    if (!p || p != first)
        return;
    STAILQ_REMOVE_HEAD(&m->stirring, next);
    STAILQ_INSERT_TAIL(&m->stirring, p, next);
}

/* --- Workers alone --- */

/* One that is full, or that nobody serves, does not stir until a worker has room for it. */
static void look_at_workers(struct manager *m, struct pool *p, int *budget)
{
    bool there = worker_groups_there(p), full = there && give_to_workers(m, p, budget);
    bool source = there && p->source_has_work && !m->jobs_stopped;
    if (!there)
        answer_no_worker(m, p, budget);
    full |= source && worker_groups_room(p) == 0;
    if (full)
        worker_groups_wait(m, p, false);
    else if (p->queue.length > 0 || source)
        manager_stir(m, p);
    if (m->shared->has_source)
        job_source_tell_full(m, p, full);
    worker_groups_call(m, p);
}

/* In turn.  What waits and is swept stays in the list meanwhile.  True: nothing is left that could
 * be given now. */
static bool give_to_all_workers(struct manager *m)
{
    struct pool_list swept = STAILQ_HEAD_INITIALIZER(swept);
    struct pool *p;
    int budget = GIVE_BUDGET;
    while (budget > 0 && (p = STAILQ_POP(&m->serving, next))) {
        p->stirs = false;
        budget -= worker_groups_cost(p) - 1;
        if (!p->workers->waits)
            look_at_workers(m, p, &budget);
        if (!p->stirs && task_queue_sweeping(&p->queue)) {
            p->stirs = true;
            STAILQ_INSERT_TAIL(&swept, p, next);
        }
    }
    bool all = STAILQ_EMPTY(&m->serving);
    STAILQ_CONCAT(&m->serving, &swept);
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
            drop(m, t);
        }
        any |= task_queue_sweeping(&p->queue);
    }
    return any;
}

/* True: it is not over. */
static bool sweep(struct manager *m)
{
    bool begins = !m->sweeps && manager_take_flagged(&m->shared->inbox);
    const struct worker_pool *s;
    if (!m->sweeps && !begins)
        return false;
    if (begins) {
        TAILQ_FOREACH(s, &m->waiting, link)
        manager_stir(m, s->pool);
    }
    bool any = sweep_in(m, &m->stirring, begins);
    any |= sweep_in(m, &m->serving, begins);
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
    m->jobs_drained_told = true;
    m->jobs_drained(m->jobs_drained_arg);
}

/* Each that has something to do, in turn: where the budget does not suffice, the next step begins
 * with those that were not looked at.  True: nothing is left that could be given now. */
static bool give_of_all(struct manager *m)
{
    struct pool_list round = STAILQ_HEAD_INITIALIZER(round);
    const struct pool *first = STAILQ_FIRST(&m->stirring), *served = NULL;
    struct pool *p;
    int budget = GIVE_BUDGET;
    bool cut = false;
    m->called = false;
    STAILQ_CONCAT(&round, &m->stirring);
    while (budget > 0 && (p = STAILQ_POP(&round, next))) {
        p->stirs = false;
        if (p->local)
            give_to_both_or_wait(m, p, &budget);
        else
            give_or_wait(m, p, &budget);
        if (p == first && budget < GIVE_BUDGET)
            served = p;
        cut |= p->cut;
        if (pool_has_work(p))
            manager_stir(m, p);
    }
    STAILQ_CONCAT(&round, &m->stirring);
    STAILQ_CONCAT(&m->stirring, &round);
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
    bool updated = (m->member_count == 0 && !worker_updates_any(m)) || worker_updates_take(m);
    bool swept = !sweep(m);
    m->source_woken = false;
    bool given = give_of_all(m);
    given &= STAILQ_EMPTY(&m->serving) || give_to_all_workers(m);
    given &= TAILQ_EMPTY(&m->waiting) || !worker_updates_wait(m);
    given &= m->joined == 0 || !waits_in_vain(m);
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
    STAILQ_INIT(&m->stirring);
    STAILQ_INIT(&m->serving);
    TAILQ_INIT(&m->waiting);
    LIST_INIT(&m->members);
    m->activator = shared->plan.manager;
    ao_init(&m->ao, &manager_class, m->activator);
    ao_init(&m->max_wait, &max_wait_class, m->activator);
    stalls_init(m);
    for (unsigned i = 0; i < POOLS_LOCAL; i++)
        if (!(shared->local[i] = pools_add(m, shared->plan.executor_count)))
            return -1;
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
    m->homes = homes;
    m->home_count = count;
    m->loops_away = calloc(m->shared->worker_loops.count, sizeof *m->loops_away);
    if (!m->loops_away)
        return -1;
    for (unsigned i = 0; i < POOLS_LOCAL; i++)
        if (pool_connect(m->pools[i], m->shared->plan.policy, i == POOL_BLOCKING) != 0)
            return -1;
    return connect_homes(m);
}

void manager_fini(struct manager *m)
{
    struct task *t;
    for (uint32_t i = 0; i < m->pool_count; i++) {
        if (m->pools[i]->workers)
            worker_pool_free(m->pools[i]->workers);
        pool_free(m->pools[i]);
    }
    free(m->loops_away);
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
