#include "server/tasks/executors/timing.h"

void timing_waited(const struct executor *e, struct times_slot *times, struct task *t)
{
    ao_time now = e->activator ? activator_now(e->activator) : executor_clock(e);
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

void timing_served(struct executor *e, const struct task *t)
{
    counter_average(&e->service_ns, held(e, t));
    counter_average(&t->method->service_ns, t->busy);
    counter_add(&e->busy_ns, t->busy);
}
