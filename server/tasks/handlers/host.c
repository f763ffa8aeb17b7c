#include "server/tasks/handlers/host.h"

#include <pthread.h>
#include <stdio.h>

#include <ergon/ao_api.h>

#include "base/log.h"

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

static void fill(void)
{
    host.size = sizeof host;
    host.major = ERGON_ABI_MAJOR;
    host.minor = ERGON_ABI_MINOR;
    host.register_handler = host_register_handler;
    host.log = host_log;
    host_fill_task(&host);
    host_fill_params(&host);
    host_fill_results(&host);
    host_fill_calls(&host);
    host_fill_jobs(&host);
    host_fill_sems(&host);
    host.ao = &api;
}

const struct ergon_host *host_table(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    return &host;
}
