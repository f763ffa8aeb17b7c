#include "server/tasks/manager/pools.h"

#include "base/grow.h"

static void wake_manager(void *arg)
{
    manager_ask(arg);
}

struct pool *pools_add(struct manager *m, uint32_t most)
{
    struct pool **pools = grow_array(m->pools, &m->pool_room, m->pool_count, sizeof *pools);
    if (!pools)
        return NULL;
    m->pools = pools;
    struct pool *p = pool_new(m->pool_count, most, wake_manager, &m->shared->inbox);
    if (p)
        m->pools[m->pool_count++] = p;
    return p;
}
