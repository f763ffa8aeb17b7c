/* The task system is put together from its plan, and taken apart. */
#include <stdio.h>
#include <stdlib.h>

#include "server/tasks/tasks_parts.h"

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

static uint32_t count_kind(const struct tasks_plan *plan, enum ergon_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->executor_count; i++)
        count += plan->executors[i].kind == kind;
    return count;
}

static int check_methods(const struct tasks_plan *plan, char *error, size_t size)
{
    for (uint32_t i = 0; i < registry_count(plan->registry); i++) {
        const struct ergon_handler *h = registry_at(plan->registry, i)->handler;
        if (count_kind(plan, h->kind) > 0)
            continue;
        snprintf(error, size, "method \"%s\" needs a %s executor, and there is none", h->name,
                 h->kind == ERGON_STEPPED ? "stepped" : "blocking");
        return -1;
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
    return check_methods(plan, error, size);
}

static void *new_aligned(size_t alignment, size_t size)
{
    void *at = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return at ? memset(at, 0, size) : NULL;
}

struct lane *tasks_new_lanes(uint32_t count)
{
    return new_aligned(alignof(struct lane), count * sizeof(struct lane));
}

static int make_homes(struct tasks *t)
{
    const struct tasks_plan *plan = &t->plan;
    t->homes = calloc(plan->loop_count + 1, sizeof(struct home *));
    if (!t->homes)
        return -1;
    for (uint32_t i = 0; i <= plan->loop_count; i++) {
        bool own = i == plan->loop_count;
        struct activator *a = own ? plan->manager : plan->loops[i];
        struct home *h = own ? &t->manager.home : new_aligned(alignof(struct home), sizeof *h);
        if (!h || home_init(h, t, i, a, plan->executor_count + 1) != 0) {
            if (!own)
                free(h);
            return -1;
        }
        h->ended = own ? NULL : plan->ended;
        t->homes[t->home_count++] = h;
    }
    return 0;
}

static struct executor *make_stepped(struct tasks *t, uint32_t i)
{
    const struct executor_plan *plan = &t->plan.executors[i];
    struct stepped *s = new_aligned(alignof(struct stepped), sizeof *s);
    if (!s || stepped_init(s, t, i, plan, t->homes[plan->loop]) != 0) {
        free(s);
        return NULL;
    }
    return &s->base;
}

static struct executor *make_blocking(struct tasks *t, uint32_t i)
{
    struct blocking *b = new_aligned(alignof(struct blocking), sizeof *b);
    if (!b || blocking_init(b, t, i, &t->plan.executors[i]) != 0) {
        free(b);
        return NULL;
    }
    t->blocking_count++;
    return &b->base;
}

static int make_executors(struct tasks *t)
{
    uint32_t count = t->plan.executor_count;
    t->executors = calloc(count ? count : 1, sizeof(struct executor *));
    if (!t->executors)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        bool stepped = t->plan.executors[i].kind == ERGON_STEPPED;
        t->executors[i] = stepped ? make_stepped(t, i) : make_blocking(t, i);
        if (!t->executors[i])
            return -1;
    }
    return 0;
}

/* The first stepped executor of each loop is the one of its home. */
static int make_short_cuts(struct tasks *t)
{
    const struct tasks_plan *plan = &t->plan;
    for (uint32_t i = plan->executor_count; i-- > 0;)
        if (plan->executors[i].kind == ERGON_STEPPED)
            t->homes[plan->executors[i].loop]->own = ao_of(t->executors[i], struct stepped, base);
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        struct home *h = t->homes[i];
        h->short_cut = plan->short_cut && h->own;
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
    if (manager_init(&t->manager, t, t->plan.manager) != 0 || make_homes(t) != 0 ||
        make_executors(t) != 0 || manager_connect(&t->manager) != 0 || make_short_cuts(t) != 0)
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
    t->plan = *plan;
    t->clock = plan->clock ? plan->clock : &ao_clock_monotonic;
    if (assemble(t) == 0)
        return t;
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

static struct blocking *blocking_at(const struct tasks *t, uint32_t i)
{
    struct executor *e = t->executors[i];
    return e && e->plan.kind == ERGON_BLOCKING ? ao_of(e, struct blocking, base) : NULL;
}

int tasks_start(struct tasks *t)
{
    for (uint32_t i = 0; i < t->plan.executor_count; i++) {
        struct blocking *b = blocking_at(t, i);
        if (b && blocking_start(b) != 0)
            return -1;
    }
    return 0;
}

void tasks_free_leftover(struct task *t)
{
    task_end(t);
    if (task_is(t, TASK_ALONE))
        free(t);
}

void tasks_close_lane(struct lane *l)
{
    bool all;
    lane_threads_ended(l);
    do {
        struct lane_item *item;
        all = lane_flush(l);
        while ((item = lane_take(l)))
            tasks_free_leftover(ao_of(item, struct task, item));
        lane_release(l);
    } while (!all);
    lane_fini(l);
}

static void free_executor(struct executor *e)
{
    if (!e)
        return;
    if (e->plan.kind == ERGON_STEPPED)
        stepped_fini(ao_of(e, struct stepped, base));
    else
        blocking_fini(ao_of(e, struct blocking, base));
    free(e); /* the base stands first in both */
}
_Static_assert(offsetof(struct stepped, base) == 0 && offsetof(struct blocking, base) == 0,
               "an executor is freed by its base");

void tasks_clear(struct tasks *t)
{
    for (uint32_t i = 0; t->executors && i < t->plan.executor_count; i++)
        if (t->executors[i] && t->executors[i]->plan.kind == ERGON_STEPPED)
            stepped_clear(ao_of(t->executors[i], struct stepped, base));
}

/* In this order: handlers let go of what they hold, lanes give up the tasks inside, then the memory
 * of the tasks goes with their homes. */
void tasks_free(struct tasks *t)
{
    if (!t)
        return;
    tasks_clear(t);
    for (uint32_t i = 0; t->executors && i < t->plan.executor_count; i++)
        free_executor(t->executors[i]);
    free(t->executors);
    manager_fini(&t->manager);
    for (uint32_t i = 0; i < t->home_count; i++) {
        home_fini(t->homes[i]);
        if (t->homes[i] != &t->manager.home)
            free(t->homes[i]);
    }
    free(t->homes);
    free(t);
}
