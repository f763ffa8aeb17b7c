#include "server/tasks/running.h"

#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/shared.h"

static void name_number(uint64_t number, char *buf)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0)
        *buf++ = digits[--n];
    *buf = '\0';
}

bool task_running_here(struct running_task *out)
{
    const struct task *t = blocking_running_here();
    if (!t)
        t = stepped_running_here();
    if (!t)
        return false;
    out->method = t->method->handler->name;
    out->module = t->method->module;
    if (task_is(t, TASK_ATTEMPT))
        t->executor->shared->source.name(t->attempt->id, out->name);
    else
        name_number(t->number, out->name);
    return true;
}
