#include "server/tasks/task_name.h"

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

void task_name(const struct tasks_shared *shared, uint64_t number, uint64_t job,
               char buf[TASK_NAME_MAX])
{
    if (job != 0)
        shared->source.name(job, buf);
    else
        name_number(number, buf);
}

void task_own_name(const struct task *t, char buf[TASK_NAME_MAX])
{
    task_name(t->executor->shared, t->number, task_is(t, TASK_ATTEMPT) ? t->attempt->id : 0, buf);
}
