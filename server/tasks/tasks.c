/* The task system is put together from its plan, started, asked from outside, stopped, and taken
 * apart. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/tasks/handlers/dev_checks.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/held_bytes.h"
#include "server/tasks/tasks_parts.h"
#include "server/tasks/worker_system.h"

enum { LANE_HOME = 256 /* tasks on their way from an executor to a home; more overflow */ };

static int fail(char *error, size_t size, const char *text)
{
    snprintf(error, size, "%s", text);
    return -1;
}

static int check_executor(const struct tasks_plan *plan, uint32_t i, char *error, size_t size)
{
    const struct executor_plan *e = &plan->executors[i];
    if (e->queue == 0) {
        snprintf(error, size, "executor %u: its queue must take at least one task", i);
        return -1;
    }
    if (e->kind == ERGON_STEPPED && e->loop >= plan->loop_count) {
        snprintf(error, size, "executor %u: there is no loop %u, only 0 to %u", i, e->loop,
                 plan->loop_count - 1);
        return -1;
    }
    return 0;
}

/* The pools of a handler that workers may offer, too. */
static int share_with_workers(struct tasks *t, struct method *m)
{
    const struct worker_system *workers = t->shared.plan.workers;
    m->joined &= !m->no_executor && workers; /* else there is nothing to join */
    m->spread &= !m->joined && workers;
    m->elsewhere = m->spread && (m->elsewhere || m->no_executor);
    if (m->joined && !(m->pool = workers->join(&t->manager, m, m->pool)))
        return -1;
    m->attempts_pool = m->spread ? workers->spread(&t->manager, m, m->pool) : m->pool;
    return m->attempts_pool ? 0 : -1;
}

/* What cannot be run is refused when it is called: somebody may want no threads, and the rest of a
 * module. */
static int mark_methods(struct tasks *t)
{
    const struct tasks_plan *plan = &t->shared.plan;
    for (uint32_t i = 0; i < registry_count(plan->registry); i++) {
        struct method *m = registry_at(plan->registry, i);
        if (method_of_workers(m))
            continue;
        m->pool = local_pool(&t->shared, m->handler->kind);
        m->no_executor = m->pool->group.count == 0;
        if (share_with_workers(t, m) != 0)
            return -1;
        atomic_init(&m->refuses, m->no_executor    ? ERGON_E_NO_EXECUTOR
                                 : method_actor(m) ? ERGON_E_BAD_PARAMS
                                                   : ERGON_OK);
        if (m->handler->flags & ERGON_LARGE_RESULTS)
            method_expect_results(m, plan->message_max);
        if (m->no_executor)
            log_warn("no executor runs this method: its calls answer NO_EXECUTOR",
                     LOG_STR("method", method_name(m)), LOG_STR("module", m->module),
                     LOG_STR("needs", m->handler->kind == ERGON_STEPPED ? "a stepped one"
                                                                        : "a blocking one"));
    }
    return 0;
}

static int check(const struct tasks_plan *plan, char *error, size_t size)
{
    if (plan->loop_count == 0 || plan->queue_max == 0)
        return fail(error, size, "there must be a loop, and room for a task in the queue");
    for (uint32_t i = 0; i < plan->executor_count; i++)
        if (check_executor(plan, i, error, size) != 0)
            return -1;
    return 0;
}

static void *new_aligned(size_t alignment, size_t size)
{
    void *at = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return at ? memset(at, 0, size) : NULL;
}

static int make_homes(struct tasks *t)
{
    const struct tasks_plan *plan = &t->shared.plan;
    t->homes = calloc(plan->loop_count + 1, sizeof(struct home *));
    if (!t->homes)
        return -1;
    for (uint32_t i = 0; i <= plan->loop_count; i++) {
        bool own = i == plan->loop_count;
        struct activator *a = own ? plan->manager : plan->loops[i];
        struct home *h = own ? &t->manager.home : new_aligned(alignof(struct home), sizeof *h);
        if (!h)
            return -1;
        t->homes[t->home_count++] = h;
        if (home_init(h, &t->shared, i, a, plan->executor_count + plan->loop_count + 1) != 0)
            return -1;
        h->ended = own ? NULL : plan->ended;
        h->opened = own ? NULL : plan->opened;
    }
    t->shared.port = t->manager.home.port;
    return 0;
}

static struct executor *make_stepped(struct tasks *t, uint32_t i)
{
    struct stepped *s = new_aligned(alignof(struct stepped), sizeof *s);
    if (!s || stepped_init(s, &t->shared, i, t->homes) != 0) {
        free(s);
        return NULL;
    }
    return &s->base;
}

static struct executor *make_blocking(struct tasks *t, uint32_t i)
{
    struct blocking *b = new_aligned(alignof(struct blocking), sizeof *b);
    if (!b || blocking_init(b, &t->shared, i) != 0) {
        free(b);
        return NULL;
    }
    return &b->base;
}

/* From the executor to each home on another thread. */
static int connect_executor(struct tasks *t, struct executor *e)
{
    for (uint32_t i = 0; i < t->home_count; i++)
        if (t->homes[i]->activator != e->activator &&
            home_add_inlet(t->homes[i], &e->out[i], LANE_HOME, e->activator) != 0)
            return -1;
    return 0;
}

static int make_executors(struct tasks *t)
{
    const struct tasks_plan *plan = &t->shared.plan;
    uint32_t count = plan->executor_count;
    t->executors = calloc(count + 1, sizeof(struct executor *));
    if (!t->executors)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        enum ergon_kind kind = plan->executors[i].kind;
        struct executor *e = kind == ERGON_STEPPED ? make_stepped(t, i) : make_blocking(t, i);
        if (!e)
            return -1;
        struct executor_group *g = &e->pool->group;
        t->executors[i] = g->list[g->count++] = e;
        t->shared.spares += plan->executors[i].spare;
        if (connect_executor(t, e) != 0)
            return -1;
    }
    atomic_init(&t->shared.waiting, t->shared.spares);
    return spares_init(&t->spares, &t->shared);
}

static int make_worker_loops(struct tasks *t)
{
    const struct tasks_plan *plan = &t->shared.plan;
    if (!plan->workers)
        return 0;
    t->worker_loops = calloc(plan->loop_count, sizeof(struct executor *));
    if (!t->worker_loops)
        return -1;
    t->shared.worker_loops = (struct executor_group){t->worker_loops, plan->loop_count};
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        struct executor *e = plan->workers->loop_new(&t->shared, i, t->homes);
        t->worker_loops[i] = e;
        if (!e || connect_executor(t, e) != 0)
            return -1;
    }
    return 0;
}

/* The first stepped executor of each loop is the one of its home. */
static int make_short_cuts(struct tasks *t)
{
    const struct tasks_plan *plan = &t->shared.plan;
    for (uint32_t i = plan->executor_count; i-- > 0;)
        if (plan->executors[i].kind == ERGON_STEPPED)
            t->homes[plan->executors[i].loop]->own = stepped_of(t->executors[i]);
    /* Only the manager sees all that is given, and can keep shares. */
    bool shares =
        plan->policy == PLACEMENT_WEIGHT && t->shared.local[POOL_STEPPED]->group.count > 1;
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        struct home *h = t->homes[i];
        h->short_cut = plan->short_cut && h->own && !shares;
        if (!h->short_cut || placement_prefers_idle_home(plan->policy))
            continue;
        h->snapshots = calloc(plan->executor_count, sizeof(struct snapshot));
        if (!h->snapshots)
            return -1;
    }
    return 0;
}

static int assemble(struct tasks *t)
{
    if (manager_init(&t->manager, &t->shared) != 0 || make_homes(t) != 0 ||
        make_executors(t) != 0 || make_worker_loops(t) != 0 ||
        manager_connect(&t->manager, t->homes, t->home_count) != 0 || make_short_cuts(t) != 0)
        return -1;
    return 0;
}

struct tasks *tasks_new(const struct tasks_plan *plan, char *error, size_t size)
{
    if (check(plan, error, size) != 0)
        return NULL;
    struct tasks *t = new_aligned(alignof(struct tasks), sizeof *t);
    if (!t) {
        fail(error, size, "no memory for the task system");
        return NULL;
    }
    t->shared.plan = *plan;
    if (plan->workers_max == 0)
        t->shared.plan.workers_max = WORKERS_MAX;
    t->shared.method_count = registry_count(plan->registry);
    t->shared.clock = plan->clock ? plan->clock : &ao_clock_monotonic;
    t->dev = plan->dev ? dev_checks_new(plan->registry) : NULL;
    if (plan->dev == (t->dev != NULL) && assemble(t) == 0 && mark_methods(t) == 0) {
        if (plan->workers)
            registry_on_intern(plan->registry, plan->workers->method_made, &t->manager);
        return t;
    }
    fail(error, size, "no memory for the task system");
    tasks_free(t);
    return NULL;
}

void tasks_set_owner(struct tasks *t, uint32_t loop, void *arg)
{
    t->homes[loop]->arg = arg;
}

struct home *tasks_home(struct tasks *t, uint32_t loop)
{
    return t->homes[loop];
}

int tasks_start(struct tasks *t)
{
    const struct executor_group *g = &t->shared.local[POOL_BLOCKING]->group;
    for (uint32_t i = 0; i < g->count - t->shared.spares; i++)
        if (blocking_start(blocking_of(g->list[i])) != 0)
            return -1;
    return 0;
}

bool tasks_look(struct tasks *t)
{
    return spares_look(&t->spares);
}

void tasks_on_crowd(struct tasks *t, void (*crowded)(void *arg), void *arg)
{
    t->shared.crowded = crowded;
    t->shared.crowded_arg = arg;
}

bool tasks_spare_called(struct tasks *t)
{
    return spares_called(&t->spares);
}

struct executor *tasks_worker_loop(struct tasks *t, uint32_t loop)
{
    assert(loop < t->shared.worker_loops.count);
    return t->worker_loops[loop];
}

void tasks_set_away(struct tasks *t, uint32_t loop, bool away)
{
    const struct executor_group *g = &t->shared.local[POOL_STEPPED]->group;
    for (uint32_t i = 0; i < g->count; i++)
        if (g->list[i]->plan.loop == loop)
            atomic_store_explicit(&g->list[i]->away, away, memory_order_relaxed);
    if (t->worker_loops)
        atomic_store_explicit(&t->worker_loops[loop]->away, away, memory_order_relaxed);
    manager_ask(&t->shared.inbox); /* there may be room again */
}

void tasks_drain_jobs(struct tasks *t, void (*drained)(void *arg), void *arg)
{
    t->manager.jobs_drained = drained;
    t->manager.jobs_drained_arg = arg;
    atomic_fetch_or_explicit(&t->shared.inbox.stop_requests, STOP_DRAIN_JOBS, memory_order_release);
    manager_ask(&t->shared.inbox);
}

void tasks_cancel_all(struct tasks *t)
{
    atomic_fetch_add_explicit(&t->shared.inbox.stop_requests, STOP_CANCEL, memory_order_release);
    manager_ask(&t->shared.inbox);
}

enum ergon_error tasks_add(struct tasks *t, struct span method, struct span params,
                           ao_time deadline,
                           void (*ended)(void *arg, const struct outcome *outcome), void *arg)
{
    struct manager_inbox *in = &t->shared.inbox;
    struct method *m = registry_find(t->shared.plan.registry, method);
    if (!m)
        return ERGON_E_NO_METHOD;
    enum ergon_error refused = method_refuses(m);
    if (refused != ERGON_OK)
        return refused;
    if (!manager_admit(in, m->pool, NULL, false))
        return ERGON_E_BUSY;
    struct task *task = task_new_alone(m, params, deadline);
    if (!task) {
        manager_dismiss(in, m->pool, 1);
        return ERGON_E_MEMORY;
    }
    task->home = (uint16_t)t->manager.home.index;
    task->call_index = CALL_NONE;
    task->added = ended;
    task->added_arg = arg;
    task_pass(task, TASK_OF_HOME, TASK_OF_MANAGER);
    manager_post(in, task);
    return ERGON_OK;
}

/* For threads that run nothing and have not ended: 10 s in all. */
enum { LATE_WAITS = 100 };
#define LATE_WAIT AO_MS(100)

static void name_stuck(const struct executor *e)
{
    char name[24];
    struct method *m = atomic_load_explicit(&e->running, memory_order_relaxed);
    executor_name(e, name, sizeof name);
    if (m)
        log_error("blocking handler did not return", LOG_STR("executor", name),
                  LOG_STR("method", method_name(m)), LOG_STR("module", m->module),
                  LOG_NS("running", executor_clock(e) - counter_read(&e->running_since)));
    else
        log_error("blocking thread did not end, though it runs no handler",
                  LOG_STR("executor", name));
}

static bool runs_nothing(const struct executor *e)
{
    return atomic_load_explicit(&e->running, memory_order_relaxed) == NULL;
}

/* True: it has ended.  A thread that runs no handler does so by itself, as soon as it has a
 * processor: it is waited for beyond the limit, `late` times. */
static bool join(struct executor *e, const struct ao_clock *clock, ao_time until, unsigned *late)
{
    ao_time now = clock->now(clock->arg);
    if (!e->cls->join || e->cls->join(e, until > now ? until - now : 0))
        return true;
    for (; *late > 0 && runs_nothing(e); --*late)
        if (e->cls->join(e, LATE_WAIT))
            return true;
    name_stuck(e);
    return false;
}

uint32_t tasks_stop(struct tasks *t, ao_time limit)
{
    const struct ao_clock *clock = t->shared.clock;
    uint32_t count = t->shared.plan.executor_count, stuck = 0;
    ao_time until = clock->now(clock->arg) + limit;
    unsigned late = LATE_WAITS;
    for (uint32_t i = 0; i < count; i++)
        if (t->executors[i]->cls->stop)
            t->executors[i]->cls->stop(t->executors[i]);
    for (uint32_t i = 0; i < count; i++)
        stuck += !join(t->executors[i], clock, until, &late);
    return stuck;
}

static void clear(struct executor *e)
{
    if (e && e->cls->clear)
        e->cls->clear(e);
}

void tasks_clear(struct tasks *t)
{
    for (uint32_t i = 0; i < t->shared.plan.executor_count; i++)
        clear(t->executors[i]);
    for (uint32_t i = 0; i < t->shared.worker_loops.count; i++)
        clear(t->worker_loops[i]);
}

static void free_executor(struct executor *e)
{
    if (e)
        e->cls->fini(e);
    free(e); /* the base is first in all */
}
_Static_assert(offsetof(struct stepped, base) == 0 && offsetof(struct blocking, base) == 0,
               "an executor is freed by its base");

/* In this order: handlers let go of what they hold, lanes give up the tasks inside, then the memory
 * of the tasks goes with their homes. */
void tasks_free(struct tasks *t)
{
    if (!t)
        return;
    if (t->executors)
        tasks_clear(t);
    for (uint32_t i = 0; t->executors && i < t->shared.plan.executor_count; i++)
        free_executor(t->executors[i]);
    free(t->executors);
    for (uint32_t i = 0; i < t->shared.worker_loops.count; i++)
        free_executor(t->worker_loops[i]);
    free(t->worker_loops);
    spares_fini(&t->spares);
    manager_fini(&t->manager);
    for (uint32_t i = 0; i < t->home_count; i++) {
        home_fini(t->homes[i]);
        if (t->homes[i] != &t->manager.home)
            free(t->homes[i]);
    }
    free(t->homes);
    dev_checks_free(t->dev);
    free(t);
}
