#include "server/tasks/executors/booking.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "server/runtime/object/trace.h"
#include "server/tasks/shared.h"

enum {
    SAMPLE = 16,         /* one of so many brief tasks is measured */
    TIMES_SAMPLE = 64,   /* one of so many is noted in the histograms of its method */
    BRIEF_NS = 2000,     /* methods that take longer are measured each time */
    CPU_BRIEF_NS = 50000 /* the same for processor time, whose clock takes a microsecond */
};

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
    trace_write(e->trace, executor_now(e), "executor", e->index + 1, "%s -> home: %s", how, home);
}

static bool is_sampled(const struct method *m, uint64_t brief_ns)
{
    uint64_t service = atomic_load_explicit(&m->service_ns, memory_order_relaxed);
    return service > 0 && service < brief_ns;
}

/* From its begin to its end.  Of a stepped task that took more than one step `busy` is the time of
 * its steps alone. */
static ao_time took(const struct executor *e, const struct task *t)
{
    ao_time lived = e->activator && t->began > 0 ? executor_now(e) - t->began : 0;
    return lived > t->busy ? lived : t->busy;
}

/* Every fourth measured task of a brief method is noted, and counts for those between.  A plain
 * call that the loop took itself has waited for nothing. */
static void note_times(const struct executor *e, struct method_figures *f, const struct task *t,
                       bool first)
{
    unsigned count = 1;
    if (first && is_sampled(t->method, BRIEF_NS)) {
        count = TIMES_SAMPLE;
        if (e->runs % TIMES_SAMPLE != 1)
            return;
    }
    times_note_run(&f->times, first ? t->busy : took(e, t), count);
    if (!task_is(t, TASK_WAITED))
        times_note_wait(&f->times, 0, count);
}

void executor_note_wait(const struct executor *e, struct times_slot *times, struct task *t)
{
    ao_time now = executor_now(e);
    if (t->made > 0 && !task_is(t, TASK_WAITED))
        times_note_wait(times, now > t->made ? now - t->made : 0, 1);
    task_set(t, TASK_WAITED);
    t->busy = 0;
}

/* For how long others waited for it. */
static ao_time held(const struct executor *e, const struct task *t)
{
    return t->busy > e->cls->turns_after ? e->cls->turns_after : t->busy;
}

void executor_note_served(struct executor *e, const struct task *t)
{
    counter_average(&e->service_ns, held(e, t));
    counter_average(&t->method->service_ns, t->busy);
    counter_add(&e->busy_ns, t->busy);
}

/* Apart, as trace_end(): so that the way of a brief task saves no registers for it. */
__attribute__((noinline)) static void book_timed(struct executor *e, struct method_figures *f,
                                                 const struct task *t, bool first)
{
    executor_note_served(e, t);
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

void executor_note_hand_over(struct executor *e, struct task *t)
{
    if (!t->given)
        return;
    ao_time now = executor_now(e);
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
