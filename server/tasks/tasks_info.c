#include <stdio.h>

#include "server/tasks/tasks_parts.h"

static void add_home(struct tasks_info *out, const struct home *h)
{
    uint64_t short_cut = counter_read(&h->short_cuts), managed = counter_read(&h->managed);
    out->short_cut += short_cut;
    out->through_manager += managed;
    out->calls += short_cut + managed;
    out->done += counter_read(&h->done);
    out->failed += counter_read(&h->failed);
    out->cancelled += counter_read(&h->cancelled);
    out->late += counter_read(&h->late);
    out->busy_refused += counter_read(&h->busy);
}

void tasks_info(const struct tasks *t, struct tasks_info *out)
{
    *out = (struct tasks_info){.executors = t->shared.plan.executor_count,
                               .queued = (uint32_t)manager_queued(&t->shared.inbox),
                               .queue_max = t->shared.plan.queue_max,
                               .policy = t->shared.plan.policy,
                               .short_cut_on = t->shared.plan.short_cut};
    for (uint32_t i = 0; i < t->home_count; i++)
        add_home(out, t->homes[i]);
    for (uint32_t i = 0; i < t->shared.plan.loop_count; i++)
        out->manager_on_loop |= t->shared.plan.loops[i] == t->shared.plan.manager;
}

void tasks_executor_info(const struct tasks *t, uint32_t index, struct executor_info *out)
{
    const struct executor *e = t->executors[index];
    const struct method *m = atomic_load_explicit(&e->running, memory_order_relaxed);
    bool stepped = e->plan.kind == ERGON_STEPPED;
    struct snapshot now;
    executor_snapshot(e, &now);
    *out = (struct executor_info){.kind = e->plan.kind,
                                  .queue = e->plan.queue,
                                  .bound = now.bound,
                                  .outstanding = now.outstanding,
                                  .parked = (uint32_t)counter_read(&e->parked),
                                  .turning = now.turning,
                                  .weight = e->plan.weight,
                                  .loop = stepped ? (int32_t)e->plan.loop : -1,
                                  .core = stepped ? -1 : e->plan.core,
                                  .priority = e->plan.priority,
                                  .done = counter_read(&e->done),
                                  .failed = counter_read(&e->failed),
                                  .busy_ns = counter_read(&e->busy_ns),
                                  .running = m ? m->handler->name : NULL};
    executor_name(e, out->name, sizeof out->name);
}
