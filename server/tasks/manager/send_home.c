/* Tasks that the manager gives to no executor: they go home. */
#include "server/runtime/object/trace.h"
#include "server/tasks/manager/manager.h"
#include "server/tasks/task.h"

void manager_send_home(struct manager *m, struct task *t)
{
    assert(t->home < m->home_count);
    struct home *h = m->homes[t->home];
    task_pass(t, TASK_OF_MANAGER, TASK_OF_HOME);
    if (t->caller)
        executor_return(t->caller, t);
    else if (h->activator == m->activator)
        home_receive(h, t);
    else
        lane_push(&m->out[t->home], &t->item);
}

void manager_drop(struct manager *m, struct task *t)
{
    TRACE(m->activator, "manager", 0, "drop task %llu", (unsigned long long)t->number);
    manager_dismiss(&m->shared->inbox, t->method->pool, 1);
    manager_dismiss_of(t->tally);
    manager_send_home(m, t);
}
