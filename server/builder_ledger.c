#include "server/builder_ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/plan.h"
#include "server/rpc/asks.h"
#include "base/log.h"

static int open_store(struct lasting *k, const struct config *c, char *error, size_t size)
{
    const struct store_options options = {
        .path = c->store, .states = ledger_state_names, .state_count = LEDGER_STATE_COUNT};
    k->store = store_open(&options, error, size);
    return k->store ? 0 : -1;
}

static int new_ledger(struct lasting *k, const struct config *c, struct tasks *tasks,
                      struct registry *registry, char *error, size_t size)
{
    struct ledger_tenant *tenants = plan_tenants(c);
    if (!tenants) {
        snprintf(error, size, "no memory for the tenants");
        return -1;
    }
    struct ledger_options options = plan_ledger(c);
    options.tasks = tasks;
    options.registry = registry;
    options.store = k->store;
    options.tenants = tenants;
    k->ledger = ledger_new(&options, error, size);
    free(tenants);
    return k->ledger ? 0 : -1;
}

static ao_time monotonic_now(void)
{
    return ao_clock_monotonic.now(ao_clock_monotonic.arg);
}

static int read_back(struct lasting *k, const struct config *c, char *error, size_t size)
{
    ao_time began = monotonic_now();
    struct ledger_info info;
    if (ledger_recover(k->ledger, error, size) != 0)
        return -1;
    ledger_info(k->ledger, &info);
    log_info("store read back", LOG_STR("store", c->store), LOG_UINT("tasks", info.tasks),
             LOG_NS("took", monotonic_now() - began));
    return 0;
}

int lasting_build(struct lasting *k, const struct config *config, struct tasks *tasks,
                  struct registry *registry, char *error, size_t size)
{
    if (config->store && open_store(k, config, error, size) != 0)
        return -1;
    if (new_ledger(k, config, tasks, registry, error, size) != 0)
        return -1;
    return k->store ? read_back(k, config, error, size) : 0;
}

int lasting_open_door(struct lasting *k, struct rpc_loop *loop)
{
    loop->door =
        ledger_door_open(k->ledger, loop->activator, rpc_ask_answered, rpc_ask_pushed, loop);
    return loop->door ? 0 : -1;
}

int lasting_start(struct lasting *k)
{
    return ledger_start(k->ledger);
}

void lasting_stop(struct lasting *k)
{
    ledger_stop(k->ledger);
}

void lasting_free(struct lasting *k)
{
    ledger_free(k->ledger);
    store_close(k->store);
}
