#include "server/builder_jobs.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/plan.h"
#include "server/rpc/asks.h"
#include "base/log.h"

static int open_store(struct lasting *k, const struct config *c, char *error, size_t size)
{
    const struct store_options options = {
        .path = c->store, .states = job_state_names, .state_count = JOB_STATE_COUNT};
    k->store = store_open(&options, error, size);
    return k->store ? 0 : -1;
}

static int new_jobs(struct lasting *k, const struct config *c, struct tasks *tasks,
                    struct registry *registry, char *error, size_t size)
{
    struct jobs_tenant *tenants = plan_tenants(c);
    if (!tenants) {
        snprintf(error, size, "no memory for the tenants");
        return -1;
    }
    struct jobs_options options = plan_jobs(c);
    options.tasks = tasks;
    options.registry = registry;
    options.store = k->store;
    options.tenants = tenants;
    k->jobs = jobs_new(&options, error, size);
    free(tenants);
    return k->jobs ? 0 : -1;
}

static ao_time monotonic_now(void)
{
    return ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static int read_back(struct lasting *k, const struct config *c, char *error, size_t size)
{
    ao_time began = monotonic_now();
    struct jobs_info info;
    if (jobs_recover(k->jobs, error, size) != 0)
        return -1;
    jobs_info(k->jobs, &info);
    log_info("store read back", LOG_STR("store", c->store), LOG_UINT("tasks", info.tasks),
             LOG_NS("took", monotonic_now() - began));
    return 0;
}

int lasting_build(struct lasting *k, const struct config *config, struct tasks *tasks,
                  struct registry *registry, char *error, size_t size)
{
    if (config->store && open_store(k, config, error, size) != 0)
        return -1;
    if (new_jobs(k, config, tasks, registry, error, size) != 0)
        return -1;
    return k->store ? read_back(k, config, error, size) : 0;
}

int lasting_open_door(struct lasting *k, struct rpc_loop *loop)
{
    loop->door = jobs_channel_open(k->jobs, loop->activator, rpc_operation_answered,
                                   rpc_operation_pushed, loop);
    return loop->door ? 0 : -1;
}

int lasting_start(struct lasting *k)
{
    return jobs_start(k->jobs);
}

void lasting_stop(struct lasting *k)
{
    jobs_stop(k->jobs);
}

void lasting_free(struct lasting *k)
{
    jobs_free(k->jobs);
    store_close(k->store);
}
