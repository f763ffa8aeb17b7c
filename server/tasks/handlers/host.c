#include "server/tasks/handlers/host.h"

#include <pthread.h>

#include "base/log.h"
#include "server/tasks/executors/blocking_parts.h"
#include "server/tasks/manager/job_source_parts.h"
#include "server/tasks/handlers/module_loader.h"
#include "server/tasks/tasks_parts.h"

static struct ergon_host host;

static void host_log(int level, const char *module, const char *text)
{
    enum log_level at = level < LOG_DEBUG   ? LOG_DEBUG
                        : level > LOG_ERROR ? LOG_ERROR
                                            : (enum log_level)level;
    LOG_AT(at, "module", LOG_STR("module", module), LOG_STR("text", text));
}

static void *host_arg(struct ergon_task *task)
{
    return task_of(task)->method->handler->arg;
}

/* A server that stops at once does not wait until each task has been told. */
static bool host_cancelled(struct ergon_task *task)
{
    const struct task *t = task_of(task);
    bool cancelled =
        task_flagged(t) != 0 || (t->method->handler->kind == ERGON_BLOCKING &&
                                 blocking_stopping(ao_of(t->executor, struct blocking, base)));
    if (cancelled && task_is(t, TASK_ATTEMPT))
        t->attempt->told = true;
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
    return task_of(task)->executor->tasks->plan.message_max;
}

static void *host_alloc(struct ergon_task *task, size_t size)
{
    return task_alloc(task_of(task), size);
}

static void fill(void)
{
    host.size = sizeof host;
    host.major = ERGON_ABI_MAJOR;
    host.minor = ERGON_ABI_MINOR;
    host.register_handler = module_register;
    host.log = host_log;
    host.arg = host_arg;
    host.cancelled = host_cancelled;
    host.now = host_now;
    host.time_left = host_time_left;
    host.message_max = host_message_max;
    host.alloc = host_alloc;
    host_fill_params(&host);
    host_fill_results(&host);
    host_fill_calls(&host);
    host_fill_kept(&host);
    host_fill_primitives(&host);
}

const struct ergon_host *host_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &host;
}
