#include "server/tasks/executors/executor.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/executors/timing.h"
#include "server/tasks/shared.h"

enum {
    SAMPLE = 16,         /* one of so many brief tasks is measured */
    TIMES_SAMPLE = 64,   /* one of so many is noted in the histograms of its method */
    BRIEF_NS = 2000,     /* methods that take longer are measured each time */
    CPU_BRIEF_NS = 50000 /* the same for processor time, whose clock takes a microsecond */
};

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

static ao_time now_of_round(const struct executor *e)
{
    return e->activator ? activator_now(e->activator) : executor_clock(e);
}

void executor_trace_line(const struct executor *e, const char *what, const struct task *t)
{
    trace_write(e->trace, now_of_round(e), "executor", e->index + 1, "%s task %llu", what,
                (unsigned long long)t->number);
}

__attribute__((noinline)) static void trace_end(const struct executor *e, const struct task *t)
{
    char home[32] = "manager", how[64];
    if (t->caller)
        snprintf(home, sizeof home, "executor %u", t->caller->index + 1);
    else if (t->home + 1u < e->home_count)
        snprintf(home, sizeof home, "loop %u", t->home);
    if (t->error == ERGON_OK)
        snprintf(how, sizeof how, "done task %llu", (unsigned long long)t->number);
    else
        snprintf(how, sizeof how, "failed task %llu (%s)", (unsigned long long)t->number, t->code);
    trace_write(e->trace, now_of_round(e), "executor", e->index + 1, "%s -> home: %s", how, home);
}

static bool is_sampled(const struct method *m, uint64_t brief_ns)
{
    uint64_t service = atomic_load_explicit(&m->service_ns, memory_order_relaxed);
    return service > 0 && service < brief_ns;
}

/* Of brief methods every fourth that was measured is noted, and stands for those between.  The
 * first step of a plain call that the loop took itself waited for nothing. */
static void note_times(const struct executor *e, struct method_figures *f, const struct task *t,
                       bool first)
{
    unsigned count = 1;
    if (first && is_sampled(t->method, BRIEF_NS)) {
        count = TIMES_SAMPLE;
        if (e->runs % TIMES_SAMPLE != 1)
            return;
    }
    times_note_run(&f->times, t->busy, count);
    if (!task_is(t, TASK_WAITED))
        times_note_wait(&f->times, 0, count);
}

/* Apart, as trace_end(): so that the way of a brief task saves no registers for it. */
__attribute__((noinline)) static void book_timed(struct executor *e, struct method_figures *f,
                                                 const struct task *t, bool first)
{
    timing_served(e, t);
    note_times(e, f, t, first);
}

__attribute__((noinline)) static void book_failure(struct method_figures *f, const struct task *t)
{
    counter_add(&f->failed, 1);
    times_note_failure(&f->times, t->error);
}

void executor_book(struct executor *e, struct task *t, bool first)
{
    struct method_figures *f = &e->figures[t->method->index];
    if (__builtin_expect(t->error == ERGON_OK, 1))
        counter_add(&f->done, 1);
    else
        book_failure(f, t);
    if (task_is(t, TASK_TIMED))
        book_timed(e, f, t, first);
    else
        counter_add(&e->busy_ns, counter_read(&e->service_ns));
    if (__builtin_expect(e->trace != NULL, 0))
        trace_end(e, t);
}

void executor_return(struct executor *caller, struct task *t)
{
    mpsc_push(&caller->returns, &t->inbox);
    waker_notify(caller->waker);
}

void executor_send_home(struct executor *e, struct task *t)
{
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_HOME);
    if (t->caller)
        executor_return(t->caller, t);
    else
        lane_push(&e->out[t->home], &t->item);
}

/* Counted in again, and not refused: it was accepted before. */
void executor_give_back(struct executor *e, struct task *t)
{
    struct manager_inbox *in = &e->shared->inbox;
    executor_trace(e, "give back", t);
    task_pass(t, TASK_OF_EXECUTOR, TASK_OF_MANAGER);
    task_set(t, TASK_RETURNED);
    manager_admit(in, t->method->pool, t->tally, true);
    manager_post(in, t);
}

bool executor_measures(struct executor *e, const struct method *m, bool cpu)
{
    return e->runs++ % SAMPLE == 0 || !is_sampled(m, cpu ? CPU_BRIEF_NS : BRIEF_NS);
}

void executor_note_busy(struct executor *e, const struct method *m, ao_time took, bool first)
{
    unsigned count = first && is_sampled(m, BRIEF_NS) ? SAMPLE : 1;
    assert(m->index < e->shared->method_count);
    struct method_figures *f = &e->figures[m->index];
    counter_add(&f->steps, count);
    counter_add(&f->busy_ns, took * count);
}

void executor_note_cpu(struct executor *e, const struct method *m, ao_time used)
{
    counter_add(&e->figures[m->index].cpu_ns, used * (is_sampled(m, CPU_BRIEF_NS) ? SAMPLE : 1));
}

ao_time executor_clock(const struct executor *e)
{
    const struct ao_clock *clock = e->shared->clock;
    return clock->now(clock->arg);
}

void executor_note_hand_over(struct executor *e, struct task *t)
{
    if (!t->given)
        return;
    ao_time now = now_of_round(e);
    counter_average(&e->hand_over_ns, now > t->given ? now - t->given : 1);
    t->given = 0;
}

void executor_note_step(struct executor *e, const struct method *m, ao_time took)
{
    ao_time limit = e->shared->plan.step_limit;
    if (limit == 0 || took <= limit)
        return;
    counter_add(&e->long_steps, 1);
    log_warn("handler's step took too long: it delays the connections of its loop",
             LOG_STR("method", method_name(m)), LOG_STR("module", m->module), LOG_NS("took", took),
             LOG_NS("limit", limit));
}

void executor_name(const struct executor *e, char *buf, size_t size)
{
    snprintf(buf, size, "%s %u", e->cls->name, e->index);
}
