/* Semaphores, as handlers of both kinds make them and blocking ones acquire them. */
#include <ergon/sem_remote.h>

#include "base/check.h"
#include "server/tasks/executors/blocking.h"
#include "server/tasks/handlers/host.h"
#include "server/tasks/shared.h"

static struct ao_sem_remote *host_sem_new(struct ergon_task *task, uint32_t permits)
{
    struct ao_port *here = host_port(task);
    return ao_sem_remote_new(here ? here : task_of(task)->executor->shared->port, permits);
}

static enum ao_wait_outcome host_sem_acquire(struct ergon_task *task, struct ao_sem_remote *sem,
                                             uint32_t permits, uint64_t limit)
{
    struct task *t = task_of(task);
    if (t->method->handler->kind != ERGON_BLOCKING)
        check_misused("ergon_sem_acquire", "a stepped handler parks: ao_sem_remote_acquire_n()");
    if (permits == 0)
        check_misused("ergon_sem_acquire", "0 permits are asked for");
    enum ao_wait_outcome outcome = blocking_acquire(t, sem, permits, limit);
    if (outcome == AO_WAIT_CANCELLED)
        (void)host_cancelled(task); /* the handler knows now */
    return outcome;
}

void host_fill_sems(struct ergon_host *host)
{
    host->sem_new = host_sem_new;
    host->sem_acquire = host_sem_acquire;
}
