/* The part of the host's table that is the runtime itself. */
#include <ergon/ao_api.h>

#include "server/tasks/handlers/host.h"
#include "server/tasks/tasks_parts.h"

static const struct ao_api api = {.size = sizeof api,
#define X(name) .name = ao_##name,
                                  AO_API(X)
#undef X
};

static struct ao_port *host_port(struct ergon_task *task)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind != ERGON_STEPPED)
        return NULL;
    return ao_of(t->executor, struct stepped, base)->home->port;
}

void host_fill_primitives(struct ergon_host *host)
{
    host->ao = &api;
    host->port = host_port;
}
