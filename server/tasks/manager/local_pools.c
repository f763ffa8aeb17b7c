/* The pools of local executors.  Those of loops run stepped handlers: their executors have places
 * for tasks that park or take turns.  Those of threads run blocking handlers, and are fair to
 * principals (executor_owner.h).
 *
 * Both read the state of their executors into snapshots as a pass begins, and choose by policy
 * (placement.h).  The helpers that both share are inline: each is compiled for its class. */
#include <stdio.h>

#include "base/tracepoint.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/executors/parking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/manager/executor_owner.h"
#include "server/tasks/manager/stalls.h"
#include "server/tasks/manager/weights.h"
#include "server/tasks/attempt.h"

/* How many tasks of this sort executor `i` may have outstanding.  `t` of GIVE_PLACE and
 * GIVE_NESTED. */
typedef uint32_t room_fn(const struct pool *p, uint32_t i, enum giving what, const struct task *t);

/* --- Both --- */

static inline void snapshot(struct pool *p, uint32_t i)
{
    struct executor *e = p->group.list[i];
    executor_snapshot(e, &p->snapshots[i]);
    counter_set(&e->bound, p->snapshots[i].bound);
}

/* The bounds that count for what is given now: until they are asked for again. */
static inline __attribute__((always_inline)) void
set_bounds(struct manager *m, struct pool *p, enum giving what, const struct task *t, room_fn *room)
{
    for (uint32_t i = 0; i < p->count; i++) {
        p->snapshots[i].bound = room(p, i, what, t);
        p->snapshots[i].awaited =
            p->weights && what != GIVE_NESTED && weights_await(p, i, activator_now(m->activator));
    }
    p->bounds_for = what;
}

static inline uint32_t places(const struct pool *p)
{
    uint32_t room = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->snapshots[i].bound > p->snapshots[i].outstanding)
            room += p->snapshots[i].bound - p->snapshots[i].outstanding;
    return room;
}

static inline struct executor *choose(struct manager *m, struct pool *p, int home)
{
    p->chosen = placement_choose(m->shared->plan.policy, p->snapshots, p->count, home, p->last);
    if (p->chosen == PLACEMENT_NONE)
        return NULL;
    assert(p->snapshots[p->chosen].outstanding < p->snapshots[p->chosen].bound);
    return p->group.list[p->chosen];
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
static void probe_give(const struct task *t, const struct executor *e)
{
    uint64_t of = task_is(t, TASK_ATTEMPT) ? t->attempt->id : 0;
    char id[TASK_NAME_MAX] = "";
    if (of != 0)
        task_name(e->shared, t->number, of, id);
    TRACEPOINT6(give, t->number, t->method->name.at, t->method->name.len, e->index, of, &id[0]);
}

static inline void note_given(struct manager *m, struct pool *p, struct executor *e, struct task *t,
                              int *budget)
{
    assert(p->chosen != PLACEMENT_NONE && p->group.list[p->chosen] == e);
    if (tracepoint_watched(give))
        probe_give(t, e);
    if (__builtin_expect(activator_trace(m->activator) != NULL, 0))
        trace_give(m, p, t, e);
    t->given = p->snapshots[p->chosen].outstanding == 0 ? activator_now(m->activator) : 0;
    p->snapshots[p->chosen].outstanding++;
    if (p->weights)
        weights_note(p, p->chosen);
    p->last = p->chosen;
    --*budget;
}

static inline void look_at_weights(struct manager *m, struct pool *p)
{
    if (p->weights)
        weights_look(p, activator_now(m->activator));
}

static inline void wait_for_weights(struct manager *m, const struct pool *x, bool full)
{
    if (full && x->weights)
        manager_look_at(m, weights_max_wait(x));
}

/* --- Loops --- */

/* Callers wait for the answer of a call, so calls are begun beside any number of those that take
 * turns.  Jobs have a queue to wait in: beyond a point one more would only slow down the others. */
static bool turns_full(const struct executor *e)
{
    return e->plan.turns > 0 && counter_read(&e->turning_jobs) >= e->plan.turns;
}

/* A nested call is taken beyond the bound, since the room may be held by tasks that wait for such
 * calls.  An executor whose loop is away takes none: what was in its lane before waits there, for
 * nobody else can take it. */
static uint32_t room_at_loop(const struct pool *p, uint32_t i, enum giving what,
                             const struct task *t)
{
    const struct executor *e = p->group.list[i];
    bool place = true;
    assert(what != GIVE_PLACE || t);
    if (atomic_load_explicit(&e->away, memory_order_relaxed))
        return 0;
    if (what == GIVE_NESTED)
        return UINT32_MAX;
    if (what == GIVE_JOB)
        place = !turns_full(e) && parking_for(e, NULL, true);
    else if (what == GIVE_PLACE)
        place = parking_for(e, t->tally, false);
    return place ? (uint32_t)counter_read(&e->bound) : 0;
}

static void loops_look(struct manager *m, struct pool *p, bool cut, int *budget)
{
    (void)cut;
    (void)budget;
    p->turns_full = false;
    p->places_full = false;
    for (uint32_t i = 0; i < p->count; i++) {
        snapshot(p, i);
        p->turns_full |= turns_full(p->group.list[i]);
        p->places_full |= !parking_free(p->group.list[i]);
    }
    look_at_weights(m, p);
    set_bounds(m, p, GIVE_CALL, NULL, room_at_loop);
}

/* For jobs the bounds are those of calls, except where turns or places are full. */
static inline enum giving loops_give_as(const struct pool *p, const struct task *t)
{
    if (!t)
        return p->turns_full || p->places_full ? GIVE_JOB : GIVE_CALL;
    if (t->depth > 0)
        return GIVE_NESTED;
    return p->places_full && atomic_load_explicit(&t->method->wants_place, memory_order_relaxed)
               ? GIVE_PLACE
               : GIVE_CALL;
}

static uint32_t loops_room(struct manager *m, struct pool *p)
{
    if (loops_give_as(p, NULL) == GIVE_JOB)
        set_bounds(m, p, GIVE_JOB, NULL, room_at_loop);
    return places(p);
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

static struct executor *loops_choose(struct manager *m, struct pool *p, const struct task *t)
{
    enum giving what = loops_give_as(p, t);
    if (what != p->bounds_for || what == GIVE_PLACE || what == GIVE_JOB)
        set_bounds(m, p, what, t, room_at_loop);
    return choose(m, p, t ? home_executor(m, p, t) : PLACEMENT_NONE);
}

static bool loops_give(struct manager *m, struct pool *p, struct executor *e, struct task *t,
                       int *budget)
{
    note_given(m, p, e, t, budget);
    manager_hand_over(e, t);
    return true;
}

/* Where turns or places are full there is room for tasks that want none, and for principals that
 * have few. */
static bool loops_pass_over(struct pool *p, const struct task *t)
{
    enum giving what = loops_give_as(p, t);
    return what == GIVE_JOB || what == GIVE_PLACE;
}

static bool loops_wait(struct manager *m, struct pool *x, struct pool *p, bool full)
{
    (void)p;
    wait_for_weights(m, x, full);
    return full;
}

const struct pool_class pool_of_loops = {.look = loops_look,
                                         .room = loops_room,
                                         .choose = loops_choose,
                                         .give = loops_give,
                                         .pass_over = loops_pass_over,
                                         .waits = loops_wait};

/* --- Threads --- */

static uint32_t room_at_thread(const struct pool *p, uint32_t i, enum giving what,
                               const struct task *t)
{
    const struct executor *e = p->group.list[i];
    bool allowed = true;
    assert(t || (what != GIVE_PLACE && what != GIVE_NESTED));
    switch ((enum executor_accepting)atomic_load_explicit(&e->accepting, memory_order_relaxed)) {
    case ACCEPTS_ALL:
        if (what == GIVE_NESTED)
            allowed = executor_owner_allow_nested(p, i, t);
        else if (what != GIVE_CALL)
            allowed = executor_owner_allow(p, i, t);
        return allowed ? (uint32_t)counter_read(&e->bound) : 0;
    case ACCEPTS_NESTED:
        return what == GIVE_NESTED ? 1 : 0;
    case ACCEPTS_NONE:
        return 0;
    }
    return 0;
}

static void threads_look(struct manager *m, struct pool *p, bool cut, int *budget)
{
    (void)budget;
    p->passed_over = cut;
    p->count = atomic_load_explicit(&m->shared->blocking_reach, memory_order_relaxed);
    p->common = atomic_load_explicit(&m->shared->blocking_common, memory_order_relaxed);
    assert(p->count <= p->group.count);
    for (uint32_t i = 0; i < p->count; i++)
        snapshot(p, i);
    stalls_bound(p);
    p->places_full = executor_owners_matter(p);
    look_at_weights(m, p);
    set_bounds(m, p, GIVE_CALL, NULL, room_at_thread);
}

static inline enum giving threads_give_as(const struct pool *p, const struct task *t)
{
    if (!t)
        return p->places_full ? GIVE_JOB : GIVE_CALL;
    if (t->depth > 0)
        return GIVE_NESTED;
    return p->places_full ? GIVE_PLACE : GIVE_CALL;
}

static uint32_t threads_room(struct manager *m, struct pool *p)
{
    if (p->places_full)
        set_bounds(m, p, GIVE_JOB, NULL, room_at_thread);
    return places(p);
}

/* The bounds of a task are its principal's: only those of calls that anybody may have stay. */
static struct executor *threads_choose(struct manager *m, struct pool *p, const struct task *t)
{
    enum giving what = threads_give_as(p, t);
    if (what != GIVE_CALL || p->bounds_for != GIVE_CALL)
        set_bounds(m, p, what, t, room_at_thread);
    return choose(m, p, PLACEMENT_NONE);
}

static bool threads_give(struct manager *m, struct pool *p, struct executor *e, struct task *t,
                         int *budget)
{
    note_given(m, p, e, t, budget);
    executor_owner_note(m, p, p->chosen, t);
    stalls_note(m, p, p->chosen);
    manager_hand_over(e, t);
    return true;
}

/* Where a spare is at work there is room for principals that hold no executor. */
static bool threads_pass_over(struct pool *p, const struct task *t)
{
    enum giving what = threads_give_as(p, t);
    p->passed_over = true;
    return p->count > p->common && (what == GIVE_JOB || what == GIVE_PLACE);
}

static bool threads_wait(struct manager *m, struct pool *x, struct pool *p, bool full)
{
    wait_for_weights(m, x, full);
    if (full)
        manager_look_at(m, executor_owner_wait(m, p, x));
    else
        executor_owner_serve(m, p);
    return full;
}

const struct pool_class pool_of_threads = {.owned = true,
                                           .look = threads_look,
                                           .room = threads_room,
                                           .choose = threads_choose,
                                           .give = threads_give,
                                           .pass_over = threads_pass_over,
                                           .waits = threads_wait};
