#include "server/tasks/executors/executor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/tasks_parts.h"

enum {
    LANE_OUT = 256,             /* tasks on their way to one home; more overflow */
    SAMPLE = 16,                /* one of so many brief tasks is measured */
    BRIEF_NS = 2000,            /* methods that take longer are measured each time */
    BLOCKING_GUESS_NS = 1000000 /* service of a blocking executor that has measured nothing yet */
};

/* A task that runs for longer than the mean says more than the mean. */
static uint64_t expected_service(const struct executor *e)
{
    uint64_t mean = counter_read(&e->service_ns);
    if (e->plan.kind == ERGON_STEPPED)
        return mean;
    if (atomic_load_explicit(&e->running, memory_order_relaxed)) {
        ao_time since = counter_read(&e->running_since), now = executor_clock(e);
        if (now > since && now - since > mean)
            return now - since;
    }
    return mean ? mean : BLOCKING_GUESS_NS;
}

int executor_init(struct executor *e, struct tasks *tasks, uint32_t index,
                  const struct executor_plan *plan, struct activator *activator)
{
    e->tasks = tasks;
    e->index = index;
    e->plan = *plan;
    e->activator = activator;
    e->trace = activator_trace(tasks->plan.manager);
    counter_set(&e->bound, placement_bound(expected_service(e), 0, plan->queue));
    e->out = tasks_new_lanes(tasks->home_count);
    if (!e->out)
        return -1;
    for (uint32_t i = 0; i < tasks->home_count; i++) {
        struct home *h = tasks->homes[i];
        if (h->activator == activator)
            continue;
        if (lane_init(&e->out[i], LANE_OUT, activator, &h->intake) != 0)
            return -1;
        h->inlets[h->inlet_count++] = &e->out[i];
    }
    return 0;
}

void executor_fini(struct executor *e)
{
    for (uint32_t i = 0; e->out && i < e->tasks->home_count; i++)
        if (e->out[i].ring.slots)
            tasks_close_lane(&e->out[i]);
    free(e->out);
    if (e->in.ring.slots)
        tasks_close_lane(&e->in);
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
                             .service_ns = expected_service(e),
                             .hand_over_ns = counter_read(&e->hand_over_ns)};
    out->bound = placement_bound(out->service_ns, out->hand_over_ns, e->plan.queue);
}

void executor_publish(struct executor *e, int n)
{
    uint32_t left = atomic_load_explicit(&e->left, memory_order_relaxed) + (uint32_t)n;
    atomic_store_explicit(&e->left, left, memory_order_release);
    if (n > 0)
        manager_on_capacity(&e->tasks->manager, e->plan.kind, e->activator);
}

void executor_trace_line(const struct executor *e, const char *what, const struct task *t)
{
    trace_write(e->trace, executor_round(e), "executor", e->index + 1, "%s task %llu", what,
                (unsigned long long)t->number);
}

static void trace_end(const struct executor *e, const struct task *t)
{
    char home[32], how[64];
    if (t->caller)
        snprintf(home, sizeof home, "executor %u", blocking_executor(t->caller)->index + 1);
    else
        home_name(e->tasks->homes[t->home], home, sizeof home);
    if (t->error == ERGON_OK)
        snprintf(how, sizeof how, "done task %llu", (unsigned long long)t->number);
    else
        snprintf(how, sizeof how, "failed task %llu (%s)", (unsigned long long)t->number, t->code);
    trace_write(e->trace, executor_round(e), "executor", e->index + 1, "%s -> home: %s", how, home);
}

void executor_book(struct executor *e, struct task *t)
{
    counter_add(t->error == ERGON_OK ? &e->done : &e->failed, 1);
    if (task_is(t, TASK_TIMED)) {
        counter_average(&e->service_ns, t->busy);
        counter_average(&t->method->service_ns, t->busy);
        counter_add(&e->busy_ns, t->busy);
    } else {
        counter_add(&e->busy_ns, counter_read(&e->service_ns));
    }
    if (__builtin_expect(e->trace != NULL, 0))
        trace_end(e, t);
}

void executor_send_home(struct executor *e, struct task *t)
{
    lane_push(&e->out[t->home], &t->item);
}

/* Counted in again, and not refused: it was accepted before. */
void executor_give_back(struct executor *e, struct task *t)
{
    struct manager *m = &e->tasks->manager;
    executor_trace(e, "give back", t);
    task_mark(t, TASK_RETURNED);
    manager_admit(m, e->plan.kind, true);
    executor_publish(e, 1);
    manager_post(m, t);
}

/* The last first, since the manager puts each before the others. */
void executor_give_back_all(struct executor *e)
{
    struct lane_item *item;
    struct task *last = NULL, *before;
    while ((item = lane_take(&e->in))) {
        struct task *t = ao_of(item, struct task, item);
        t->next = last;
        last = t;
    }
    lane_release(&e->in);
    for (; last; last = before) {
        before = last->next;
        executor_give_back(e, last);
    }
}

bool executor_measures(struct executor *e, const struct method *m)
{
    uint64_t service = atomic_load_explicit(&m->service_ns, memory_order_relaxed);
    return e->runs++ % SAMPLE == 0 || service == 0 || service >= BRIEF_NS;
}

ao_time executor_clock(const struct executor *e)
{
    const struct ao_clock *clock = e->tasks->clock;
    return clock->now(clock->arg);
}

ao_time executor_round(const struct executor *e)
{
    return e->activator ? activator_now(e->activator) : executor_clock(e);
}

void executor_note_hand_over(struct executor *e, struct task *t)
{
    if (!t->given)
        return;
    ao_time now = executor_round(e);
    counter_average(&e->hand_over_ns, now > t->given ? now - t->given : 1);
    t->given = 0;
}

void executor_note_step(struct executor *e, const struct method *m, ao_time took)
{
    ao_time limit = e->tasks->plan.step_limit;
    if (limit == 0 || took <= limit)
        return;
    counter_add(&e->long_steps, 1);
    log_warn("handler's step took too long: it delays the connections of its loop",
             LOG_STR("method", m->handler->name), LOG_STR("module", m->module),
             LOG_NS("took", took), LOG_NS("limit", limit));
}

void executor_name(const struct executor *e, char *buf, size_t size)
{
    snprintf(buf, size, "%s %u", e->plan.kind == ERGON_STEPPED ? "stepped" : "blocking", e->index);
}
