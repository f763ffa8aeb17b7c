#include "server/tasks/executors/executor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/shared.h"

static uint32_t bound(const struct executor *e, uint64_t service_ns, uint64_t hand_over_ns)
{
    if (e->plan.fixed)
        return e->plan.queue;
    return placement_bound(service_ns, hand_over_ns, e->plan.queue);
}

int executor_init(struct executor *e, struct tasks_shared *shared, uint32_t index,
                  struct activator *activator)
{
    e->shared = shared;
    e->activator = activator;
    mpsc_init(&e->returns);
    e->home_count = shared_homes(shared);
    if (index == EXECUTOR_BESIDE)
        return 0;
    e->index = index;
    e->plan = shared->plan.executors[index];
    e->pool = local_pool(shared, e->plan.kind);
    e->trace = activator_trace(shared->plan.manager);
    counter_set(&e->bound, bound(e, e->cls->expects(e), 0));
    e->figures = calloc(shared->method_count + 1, sizeof *e->figures);
    return e->figures ? 0 : -1;
}

void executor_fini(struct executor *e)
{
    for (uint32_t i = 0; e->figures && i < e->shared->method_count; i++)
        times_fini(&e->figures[i].times);
    free(e->figures);
}

uint32_t executor_outstanding(const struct executor *e)
{
    uint32_t left = atomic_load_explicit(&e->left, memory_order_acquire);
    return atomic_load_explicit(&e->given, memory_order_relaxed) - left;
}

void executor_snapshot(const struct executor *e, struct snapshot *out)
{
    *out = (struct snapshot){.outstanding = executor_outstanding(e),
                             .weight = e->plan.weight,
                             .priority = e->plan.priority,
                             .turning = (uint32_t)counter_read(&e->turning),
                             .service_ns = e->cls->expects(e),
                             .hand_over_ns = counter_read(&e->hand_over_ns)};
    out->bound = bound(e, out->service_ns, out->hand_over_ns);
}

bool executor_is_stalled(const struct executor *e)
{
    return counter_read(&e->stalled) ==
           (uint64_t)atomic_load_explicit(&e->left, memory_order_relaxed) + 1;
}

void executor_publish(struct executor *e, int n)
{
    uint32_t left = atomic_load_explicit(&e->left, memory_order_relaxed) + (uint32_t)n;
    atomic_store_explicit(&e->left, left, memory_order_release);
    if (n >= 0)
        manager_on_capacity(&e->shared->inbox, e->pool, e->activator);
}

void executors_notify(const struct executor_group *group, uint64_t number)
{
    for (uint32_t i = 0; i < group->count; i++) {
        struct executor *e = group->list[i];
        if (e->cls->notify) {
            e->cls->notify(e, number);
            continue;
        }
        atomic_store_explicit(&e->notified, true, memory_order_release);
        ao_post(e->handle, AO_POST_ACTIVATE);
    }
}

void executor_trace_line(const struct executor *e, const char *what, const struct task *t)
{
    trace_write(e->trace, executor_now(e), "executor", e->index + 1, "%s task %llu", what,
                (unsigned long long)t->number);
}

void executor_return(struct executor *caller, struct task *t)
{
    assert(caller->waker);
    mpsc_push(&caller->returns, &t->inbox);
    waker_notify(caller->waker);
}

void executor_send_home(struct executor *e, struct task *t)
{
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_HOME);
    assert(t->caller || t->home < e->home_count);
    if (t->caller)
        executor_return(t->caller, t);
    else
        lane_push(&e->out[t->home], &t->item);
}

void executor_give_back(struct executor *e, struct task *t)
{
    executor_trace(e, "give back", t);
    manager_requeue(&e->shared->inbox, t);
}

ao_time executor_clock(const struct executor *e)
{
    const struct ao_clock *clock = e->shared->clock;
    return clock->now(clock->arg);
}

void executor_name(const struct executor *e, char *buf, size_t size)
{
    snprintf(buf, size, "%s %u", e->cls->name, e->index);
}
