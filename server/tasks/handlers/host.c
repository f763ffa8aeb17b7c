#include "server/tasks/handlers/host.h"

#include <pthread.h>
#include <stdio.h>

#include <ergon/ao_api.h>

#include "base/log.h"
#include "server/tasks/calls/home.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/executors/stepped.h"
#include "server/tasks/shared.h"

static struct ergon_host host;

/* The part of the table that is the runtime itself. */
static const struct ao_api api = {.size = sizeof api,
#define X(name) .name = ao_##name,
                                  AO_API(X)
#undef X
};

/* The first refusal is the one that people see. */
static int host_register_handler(struct ergon_module *module, const struct ergon_handler *handler)
{
    char error[256];
    if (registry_add(module->registry, module->name, handler, error, sizeof error) == 0)
        return 0;
    log_error("handler refused", LOG_STR("module", module->name), LOG_STR("text", error));
    if (!module->refused)
        snprintf(module->error, module->error_size, "%s", error);
    module->refused = true;
    return -1;
}

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

/* A server that stops at once does not wait until each task has been flagged. */
static bool host_cancelled(struct ergon_task *task)
{
    const struct task *t = task_of(task);
    bool cancelled = task_flagged(t) != 0 || (t->method->handler->kind == ERGON_BLOCKING &&
                                              blocking_stopping(blocking_of(t->executor)));
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

static struct ao_port *host_port(struct ergon_task *task)
{
    struct task *t = task_of(task);
    return t->method->handler->kind == ERGON_STEPPED ? stepped_of(t->executor)->home->port : NULL;
}

static void fill(void)
{
    host.size = sizeof host;
    host.major = ERGON_ABI_MAJOR;
    host.minor = ERGON_ABI_MINOR;
    host.register_handler = host_register_handler;
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
    host_fill_jobs(&host);
    host_fill_sems(&host);
    host.ao = &api;
    host.port = host_port;
}

const struct ergon_host *host_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &host;
}
