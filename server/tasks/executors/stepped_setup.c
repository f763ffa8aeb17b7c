/* The stepped executor is put together and taken apart. */
#include "server/tasks/handlers/host.h"
#include "server/tasks/tasks_parts.h"

int stepped_init(struct stepped *s, struct tasks *tasks, uint32_t index,
                 const struct executor_plan *plan, struct home *home)
{
    struct executor *e = &s->base;
    s->home = home;
    ao_init(&s->ao, &stepped_class, home->activator);
    s->handle = ao_handle_new(&s->ao);
    s->port = ao_port_new(home->activator);
    if (!s->handle || !s->port || executor_init(e, tasks, index, plan, home->activator) != 0 ||
        lane_init(&e->in, EXECUTOR_LANE_IN, tasks->plan.manager, &s->ao) != 0) {
        stepped_fini(s);
        return -1;
    }
    return 0;
}

void stepped_fini(struct stepped *s)
{
    executor_fini(&s->base);
    if (ao_state(&s->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&s->ao);
    ao_fini(&s->ao);
    if (s->handle)
        ao_handle_unref(s->handle);
    if (s->port)
        ao_port_free(s->port);
}

void stepped_clear(struct stepped *s)
{
    for (struct task *t; (t = s->started ? s->started : s->unwanted);) {
        *(s->started ? &s->started : &s->unwanted) = t->next;
        if (ao_state(&t->ao) == AO_STATE_ACTIVE || ao_state(&t->ao) == AO_STATE_SLEEPING)
            ao_deactivate(&t->ao);
        host_drop_nested(t);
        task_drop_state(t);
        ao_fini(&t->ao);
        tasks_free_leftover(t);
    }
}
