#include "server/tasks/executors/spare.h"

#include <stdlib.h>

#include "base/log.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/shared.h"
#include "server/tasks/attempt.h"

/* What one executor runs though nobody wants it. */
struct outlived {
    uint64_t number; /* of its task; 0: all is well */
    const struct method *method;
    char name[TASK_NAME_MAX];
    ao_time since; /* when its handler began */
    bool named;    /* in the log: it was seen twice */
};

static struct executor_group *group_of(const struct spares *s)
{
    return &s->shared->local[POOL_BLOCKING]->group;
}

int spares_init(struct spares *s, struct tasks_shared *shared)
{
    s->shared = shared;
    atomic_init(&shared->blocking_reach, group_of(s)->count - shared->spares);
    atomic_init(&shared->blocking_common, group_of(s)->count - shared->spares);
    s->seen = calloc(group_of(s)->count + 1, sizeof *s->seen);
    return s->seen ? 0 : -1;
}

void spares_fini(struct spares *s)
{
    free(s->seen);
    s->seen = NULL;
}

/* ---- what has outlived its task ---- */

static void name_it(const struct executor *e, const struct outlived *o)
{
    char executor[24];
    executor_name(e, executor, sizeof executor);
    log_warn("a blocking handler has outlived its task: its result will be dropped",
             LOG_STR("executor", executor), LOG_STR("module", o->method ? o->method->module : NULL),
             LOG_STR("method", o->method ? method_name(o->method) : NULL), LOG_STR("task", o->name),
             LOG_NS("running", executor_clock(e) - o->since));
}

static void name_end(const struct executor *e, const struct outlived *o)
{
    char executor[24];
    executor_name(e, executor, sizeof executor);
    log_info("blocking handler has returned at last", LOG_STR("executor", executor),
             LOG_STR("method", o->method ? method_name(o->method) : NULL), LOG_STR("task", o->name),
             LOG_NS("within", executor_clock(e) - o->since));
}

static void notice(const struct executor *e, uint64_t number, struct outlived *o)
{
    *o = (struct outlived){
        .number = number,
        .method = atomic_load_explicit(&e->running, memory_order_relaxed),
        .since = counter_read(&e->running_since),
    };
    task_name(e->shared, number, counter_read(&e->running_job), o->name);
}

/* True: seen twice at least. */
static bool look_at(const struct executor *e, struct outlived *o)
{
    uint64_t number = counter_read(&e->running_number);
    bool unwanted = number != 0 && number == counter_read(&e->unwanted_number);
    bool again = unwanted && number == o->number;
    if (!again && o->named)
        name_end(e, o);
    if (!unwanted)
        *o = (struct outlived){0};
    else if (!again)
        notice(e, number, o);
    if (again && !o->named)
        name_it(e, o);
    o->named = again;
    return again;
}

/* ---- Which spares are at work ---- */

/* How far the manager looks from now on.  A spare may have found its place, and notified the
 * manager, before: so a manager that waits for room looks again (E1 and E2 of the argument in
 * manager.c). */
static void extend(const struct spares *s, uint32_t reach, uint32_t common)
{
    struct tasks_shared *shared = s->shared;
    uint32_t reached = atomic_load_explicit(&shared->blocking_reach, memory_order_relaxed);
    uint32_t had = atomic_load_explicit(&shared->blocking_common, memory_order_relaxed);
    atomic_store_explicit(&shared->blocking_reach, reach, memory_order_relaxed);
    atomic_store_explicit(&shared->blocking_common, common, memory_order_relaxed);
    if (reach > reached || common > had)
        manager_on_capacity(&shared->inbox, shared->local[POOL_BLOCKING], NULL);
}

/* The first `wanted` spares; true when one of them has not found its place. */
static bool have_at_work(const struct spares *s, uint32_t wanted)
{
    const struct executor_group *g = group_of(s);
    uint32_t reach = g->count - s->shared->spares, first = reach;
    bool more = false;
    for (uint32_t i = first; i < g->count; i++) {
        struct blocking *b = blocking_of(g->list[i]);
        bool is_wanted = i - first < wanted;
        bool settled = blocking_want(b, is_wanted);
        if (is_wanted || !settled)
            reach = i + 1;
        more |= !settled;
    }
    extend(s, reach, first + s->outlived);
    return more;
}

static void say_at_the_most(struct spares *s, uint32_t outlived)
{
    bool at_the_most = outlived > s->shared->spares;
    if (at_the_most && !s->at_the_most)
        log_error("all spare blocking threads are in use: no further one replaces a handler that "
                  "outlives its task",
                  LOG_UINT("outlived", outlived), LOG_UINT("threads", group_of(s)->count),
                  LOG_STR("hint", "executors.blocking.max"));
    s->at_the_most = at_the_most;
}

/* Spares that nothing else wants, for principals that own no executor: one more while they wait.
 * True: they do. */
static bool add_to_crowd(struct spares *s)
{
    bool waits = atomic_load_explicit(&s->shared->blocking_crowded, memory_order_relaxed);
    s->crowd += waits;
    return waits;
}

/* Here alone is decided how many are at work. */
static bool settle(struct spares *s)
{
    uint32_t spares = s->shared->spares;
    uint32_t most = s->outlived < spares ? spares - s->outlived : 0;
    if (s->crowd > most)
        s->crowd = most;
    return have_at_work(s, s->outlived + s->crowd) || s->unwanted || s->crowd > 0;
}

bool spares_look(struct spares *s)
{
    const struct executor_group *g = group_of(s);
    bool served = atomic_exchange_explicit(&s->shared->crowd_served, false, memory_order_relaxed);
    s->outlived = 0;
    s->unwanted = false;
    for (uint32_t i = 0; i < g->count; i++) {
        s->outlived += look_at(g->list[i], &s->seen[i]);
        s->unwanted |= s->seen[i].number != 0;
    }
    say_at_the_most(s, s->outlived);
    if (!add_to_crowd(s) && !served)
        s->crowd = 0;
    return settle(s);
}

bool spares_called(struct spares *s)
{
    add_to_crowd(s);
    return settle(s);
}
