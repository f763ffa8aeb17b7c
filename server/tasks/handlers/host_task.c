/* What a handler may ask of its own task: whether it is wanted, how long, where it runs. */
#include "server/tasks/calls/home.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/shared.h"
#include "server/tasks/task_trace.h"

static void *host_arg(struct ergon_task *task)
{
    return task_of(task)->method->handler->arg;
}

/* A server that stops at once does not wait until each task has been flagged. */
bool host_cancelled(struct ergon_task *task)
{
    const struct task *t = task_of(task);
    const struct blocking *b =
        t->method->handler->kind == ERGON_BLOCKING ? blocking_of(t->executor) : NULL;
    bool cancelled = b ? blocking_stopping(b) || blocking_unwanted(b, t) : task_flagged(t) != 0;
    if (cancelled && task_is(t, TASK_ATTEMPT))
        t->attempt->cancel_seen = true;
    return cancelled;
}

static uint64_t host_now(struct ergon_task *task)
{
    return executor_clock(task_of(task)->executor);
}

static uint64_t host_time_left(struct ergon_task *task)
{
    ao_time deadline = task_of(task)->deadline;
    if (deadline == AO_NEVER)
        return UINT64_MAX;
    ao_time now = host_now(task);
    return deadline > now ? deadline - now : 0;
}

static uint64_t host_message_max(struct ergon_task *task)
{
    return task_of(task)->executor->shared->plan.message_max;
}

static void *host_alloc(struct ergon_task *task, size_t size)
{
    return task_alloc(task_of(task), size);
}

struct ao_port *host_port(struct ergon_task *task)
{
    struct task *t = task_of(task);
    return t->method->handler->kind == ERGON_STEPPED ? stepped_of(t->executor)->home->port : NULL;
}

static bool host_traceparent(struct ergon_task *task, char *buf)
{
    const struct task_trace *trace = task_trace(task_of(task));
    _Static_assert((int)ERGON_TRACEPARENT_SIZE == (int)TRACEPARENT_SIZE, "a module's room for it");
    buf[0] = '\0';
    if (trace)
        traceparent_text(&trace->link.context, buf);
    return trace != NULL;
}

void host_fill_task(struct ergon_host *host)
{
    host->arg = host_arg;
    host->cancelled = host_cancelled;
    host->now = host_now;
    host->time_left = host_time_left;
    host->message_max = host_message_max;
    host->alloc = host_alloc;
    host->port = host_port;
    host->traceparent = host_traceparent;
}
