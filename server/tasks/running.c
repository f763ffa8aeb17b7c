#include "server/tasks/running.h"

#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"

bool task_running_here(struct running_task *out)
{
    const struct task *t = blocking_running_here();
    if (!t)
        t = stepped_running_here();
    if (!t)
        return false;
    out->method = method_name(t->method);
    out->module = t->method->module;
    task_own_name(t, out->name);
    return true;
}
