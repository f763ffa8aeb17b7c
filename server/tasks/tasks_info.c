/* Figures of tasks, methods and executors. */
#include <stdio.h>

#include "base/clock.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/actor_offer.h"
#include "server/tasks/tasks_parts.h"
#include "server/tasks/tasks_rings.h"

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

static uint32_t executors_shown(const struct tasks_shared *s)
{
    uint32_t reach = atomic_load_explicit(&s->blocking_reach, memory_order_relaxed);
    uint32_t unused = s->local[POOL_BLOCKING]->group.count - reach;
    return s->plan.executor_count - unused;
}

void tasks_info(const struct tasks *t, struct tasks_info *out)
{
    *out = (struct tasks_info){.executors = executors_shown(&t->shared),
                               .queued = (uint32_t)manager_queued(&t->shared.inbox),
                               .queue_max = t->shared.plan.queue_max,
                               .policy = t->shared.plan.policy,
                               .short_cut_on = t->shared.plan.short_cut};
    for (uint32_t i = 0; i < t->home_count; i++)
        add_home(out, t->homes[i]);
    for (uint32_t i = 0; i < t->shared.plan.loop_count; i++)
        out->manager_on_loop |= t->shared.plan.loops[i] == t->shared.plan.manager;
}

uint32_t tasks_top(const struct tasks *t, struct account_top *out, uint32_t most)
{
    struct accounts *all = t->shared.plan.accounts;
    return all ? accounts_top(all, out, most) : 0;
}

static const char *state_of(const struct executor *e)
{
    uint64_t number = counter_read(&e->running_number);
    if (atomic_load_explicit(&e->away, memory_order_relaxed))
        return "away";
    if (number != 0 && number == counter_read(&e->unwanted_number))
        return "outlived";
    if (!e->plan.spare)
        return "ready";
    return blocking_at_rest(e) ? "rests" : "stands in";
}

/* Of the run of a blocking handler. */
static ao_time cpu_under_way(const struct executor *e)
{
    ao_time mark = counter_read(&e->cpu_mark);
    clockid_t clock = atomic_load_explicit(&e->cpu_clock, memory_order_relaxed);
    if (mark == 0 || clock == 0)
        return 0;
    ao_time now = clock_read_if_there(clock);
    return now > mark ? now - mark : 0;
}

/* Only of a blocking executor is it known. */
static void add_running(struct method_info *out, const struct executor *e, const struct method *m)
{
    /* Pairs with the release in run_handler(). */
    if (atomic_load_explicit(&e->running, memory_order_acquire) != m)
        return;
    ao_time since = counter_read(&e->running_since), now = executor_clock(e);
    out->running++;
    out->busy_ns += since > 0 && now > since ? now - since : 0;
    out->cpu_ns += cpu_under_way(e);
}

/* Where workers run it. */
static void add_worker_loops(struct method_info *out, const struct tasks *t, const struct method *m)
{
    const struct offer_figures *figures = m->attempts_pool->offers;
    ao_time now = t->shared.clock->now(t->shared.clock->arg);
    for (uint32_t i = 0; i < t->shared.worker_loops.count; i++) {
        uint64_t under_way;
        out->running += offer_running(&figures[i], now, &under_way);
        out->busy_ns += under_way;
        out->done += counter_read(&figures[i].done);
        out->failed += counter_read(&figures[i].failed);
        out->busy_ns += counter_read(&figures[i].busy_ns);
    }
    out->steps += out->done + out->failed;
}

void tasks_method_info(const struct tasks *t, uint32_t index, struct method_info *out)
{
    const struct method *m = registry_at(t->shared.plan.registry, index);
    *out = (struct method_info){
        .name = method_name(m),
        .busy_refused = atomic_load_explicit(&m->busy, memory_order_relaxed),
        .service_ns = atomic_load_explicit(&m->service_ns, memory_order_relaxed)};
    if (method_of_workers(m)) {
        add_worker_loops(out, t, m);
        out->at_workers = true;
        out->no_worker = method_nobody_runs(m);
        return;
    }
    for (uint32_t i = 0; i < t->shared.plan.executor_count; i++) {
        const struct executor *e = t->executors[i];
        const struct method_figures *f = &e->figures[index];
        uint64_t parked = counter_read(&f->parked), living = counter_read(&f->living);
        out->parked += parked;
        out->running += living > parked ? living - parked : 0;
        out->done += counter_read(&f->done);
        out->failed += counter_read(&f->failed);
        out->steps += counter_read(&f->steps);
        out->busy_ns += counter_read(&f->busy_ns);
        out->cpu_ended_ns +=
            counter_read(m->handler->kind == ERGON_STEPPED ? &f->busy_ns : &f->cpu_ns);
        add_running(out, e, m);
    }
    out->cpu_ns += out->cpu_ended_ns;
    if (m->attempts_pool->offers)
        add_worker_loops(out, t, m);
}

void tasks_method_times(const struct tasks *t, uint32_t index, struct times_sum *out)
{
    const struct method *m = registry_at(t->shared.plan.registry, index);
    *out = (struct times_sum){0};
    for (uint32_t i = 0; m->attempts_pool->offers && i < t->shared.worker_loops.count; i++)
        times_read(&m->attempts_pool->offers[i].times, out);
    for (uint32_t i = 0; !method_of_workers(m) && i < t->shared.plan.executor_count; i++)
        times_read(&t->executors[i]->figures[index].times, out);
}

uint32_t tasks_rings(const struct tasks *t, struct recorder_ring *out)
{
    const struct executor_group *g = &t->shared.local[POOL_BLOCKING]->group;
    for (uint32_t i = 0; out && i < g->count; i++) {
        out[i].recorder = blocking_of(g->list[i])->recorder;
        executor_name(g->list[i], out[i].name, sizeof out[i].name);
    }
    return g->count;
}

/* The method whose handler runs: of a loop's executors only while a step there does not return, for
 * between steps they have many; then it holds up all of them. */
static const char *runs(const struct executor *e)
{
    const struct method *m = atomic_load_explicit(&e->running, memory_order_relaxed);
    ao_time since;
    const struct ao_class *stuck = e->activator ? activator_stuck(e->activator, &since) : NULL;
    if (m)
        return method_name(m);
    return stuck ? stuck->detail : NULL;
}

void tasks_executor_info(const struct tasks *t, uint32_t index, struct executor_info *out)
{
    const struct executor *e = t->executors[index];
    struct snapshot now;
    executor_snapshot(e, &now);
    if (executor_is_stalled(e) && now.bound > 1)
        now.bound = 1;
    *out = (struct executor_info){.kind = e->plan.kind,
                                  .queue = e->plan.queue,
                                  .bound = now.bound,
                                  .outstanding = now.outstanding,
                                  .parked = (uint32_t)counter_read(&e->parked),
                                  .turning = now.turning,
                                  .weight = e->plan.weight,
                                  .loop = e->activator ? (int32_t)e->plan.loop : -1,
                                  .core = e->activator ? -1 : e->plan.core,
                                  .priority = e->plan.priority,
                                  .busy_ns = counter_read(&e->busy_ns),
                                  .running = runs(e),
                                  .state = state_of(e)};
    for (uint32_t i = 0; i < t->shared.method_count; i++) {
        out->done += counter_read(&e->figures[i].done);
        out->failed += counter_read(&e->figures[i].failed);
    }
    executor_name(e, out->name, sizeof out->name);
}
