#include "server/tasks/running.h"

#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"

static const struct task *running(void)
{
    const struct task *t = blocking_running_here();
    return t ? t : stepped_running_here();
}

const struct attempt_mark *task_running_mark(void)
{
    const struct task *t = running();
    return t && task_is(t, TASK_ATTEMPT) ? t->attempt->mark : NULL;
}

bool task_running_here(struct running_task *out)
{
    const struct task *t = running();
    if (!t)
        return false;
    out->method = method_name(t->method);
    out->module = t->method->module;
    task_own_name(t, out->name);
    return true;
}
