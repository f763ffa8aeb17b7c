/* Tasks of outside threads: at home with the manager. */
#include <stdlib.h>

#include "server/tasks/calls/home.h"
#include "server/tasks/tasks_parts.h"

static void submitted_ended(void *arg, struct call *call, struct outcome *outcome)
{
    struct task *t = call->owner;
    (void)arg;
    t->submitted(t->submitted_arg, outcome);
}

static void refuse(struct home *h, struct task *t, enum ergon_error error)
{
    struct outcome outcome;
    outcome_of(error, &outcome);
    manager_dismiss(&h->tasks->manager, t->method->handler->kind);
    t->submitted(t->submitted_arg, &outcome);
    tasks_free_leftover(t);
}

bool home_adopt(struct home *h, struct task *t)
{
    const struct call_request request = {.owner = t, .deadline = t->deadline};
    const struct call_order order = {.request = &request, .ended = submitted_ended};
    if (h->draining) {
        refuse(h, t, ERGON_E_DRAINING);
        return false;
    }
    t->number = t->chain = home_next_number(h);
    if (!home_open_call(h, t, &order, true)) {
        refuse(h, t, ERGON_E_MEMORY);
        return false;
    }
    counter_add(&h->managed, 1);
    return true;
}
