/* What may be asked of a running task system from any thread: work, drain, cancel, stop. */
#include <stdlib.h>

#include "base/log.h"
#include "server/tasks/tasks_parts.h"

void tasks_notify(struct tasks *tasks, enum ergon_kind kind)
{
    const struct manager_kind *k = manager_kind(&tasks->manager, kind);
    for (uint32_t i = 0; i < k->count; i++) {
        if (kind == ERGON_STEPPED)
            stepped_notify(ao_of(k->executors[i], struct stepped, base));
        else
            blocking_notify(ao_of(k->executors[i], struct blocking, base));
    }
}

void tasks_drain(struct tasks *t, void (*drained)(void *arg), void *arg)
{
    t->drained = drained;
    t->drained_arg = arg;
    atomic_fetch_or_explicit(&t->stop_requests, STOP_DRAIN, memory_order_release);
    manager_ask(&t->manager);
}

void tasks_drain_kept(struct tasks *t, void (*drained)(void *arg), void *arg)
{
    t->kept_drained = drained;
    t->kept_drained_arg = arg;
    atomic_fetch_or_explicit(&t->stop_requests, STOP_DRAIN_KEPT, memory_order_release);
    manager_ask(&t->manager);
}

void tasks_cancel_all(struct tasks *t)
{
    atomic_fetch_add_explicit(&t->stop_requests, STOP_CANCEL, memory_order_release);
    manager_ask(&t->manager);
}

static bool is_draining(struct tasks *t)
{
    return atomic_load_explicit(&t->stop_requests, memory_order_acquire) & STOP_DRAIN;
}

static struct task *make_submitted(struct tasks *tasks, struct method *m, struct span params,
                                   ao_time deadline)
{
    struct task *t = aligned_alloc(alignof(struct task), sizeof *t);
    if (!t)
        return NULL;
    memset(t, 0, sizeof *t);
    task_begin(t, m, params, deadline);
    task_mark(t, TASK_ALONE);
    t->home = (uint16_t)tasks->manager.home.index;
    t->call_index = CALL_NONE;
    if (task_keep_params(t))
        return t;
    free(t);
    return NULL;
}

enum ergon_error tasks_submit(struct tasks *t, struct span method, struct span params,
                              ao_time deadline,
                              void (*ended)(void *arg, const struct outcome *outcome), void *arg)
{
    struct method *m = registry_find(t->plan.registry, method);
    if (!m)
        return ERGON_E_NO_METHOD;
    if (is_draining(t))
        return ERGON_E_DRAINING;
    if (!manager_admit(&t->manager, m->handler->kind, false))
        return ERGON_E_BUSY;
    struct task *task = make_submitted(t, m, params, deadline);
    if (!task) {
        manager_dismiss(&t->manager, m->handler->kind);
        return ERGON_E_MEMORY;
    }
    task->submitted = ended;
    task->submitted_arg = arg;
    manager_post(&t->manager, task);
    return ERGON_OK;
}

static void name_stuck(const struct executor *e)
{
    char name[24];
    struct method *m = atomic_load_explicit(&e->running, memory_order_relaxed);
    executor_name(e, name, sizeof name);
    log_error("blocking handler did not return", LOG_STR("executor", name),
              LOG_STR("method", m ? m->handler->name : NULL),
              LOG_STR("module", m ? m->module : NULL),
              LOG_NS("running", executor_clock(e) - counter_read(&e->running_since)));
}

uint32_t tasks_stop(struct tasks *t, ao_time limit)
{
    const struct manager_kind *k = manager_kind(&t->manager, ERGON_BLOCKING);
    uint32_t stuck = 0;
    ao_time until = t->clock->now(t->clock->arg) + limit;
    for (uint32_t i = 0; i < k->count; i++)
        blocking_stop(ao_of(k->executors[i], struct blocking, base));
    for (uint32_t i = 0; i < k->count; i++) {
        ao_time now = t->clock->now(t->clock->arg);
        struct blocking *b = ao_of(k->executors[i], struct blocking, base);
        if (blocking_join(b, until > now ? until - now : 0))
            continue;
        name_stuck(&b->base);
        stuck++;
    }
    return stuck;
}
