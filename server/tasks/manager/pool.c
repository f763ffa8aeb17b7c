#include "server/tasks/manager/pool.h"

#include <stdlib.h>

#include "base/grow.h"
#include "server/tasks/manager/manager.h"
#include "server/tasks/manager/weights.h"

struct pool *pool_new(const struct pool_class *cls, uint32_t index, uint32_t most,
                      void (*wake)(void *arg), void *arg)
{
    struct pool *p = aligned_alloc(alignof(struct pool), sizeof *p);
    if (!p)
        return NULL;
    *p =
        (struct pool){.cls = cls, .index = index, .chosen = PLACEMENT_NONE, .last = PLACEMENT_NONE};
    waker_init(&p->waiting_for_room, wake, arg);
    if (most == 0)
        return p;
    p->group.list = p->list = calloc(most, sizeof(struct executor *));
    if (p->list)
        return p;
    free(p);
    return NULL;
}

void pool_free(struct pool *p)
{
    struct task *t;
    if (!p)
        return;
    assert(p->queue.aside == 0 || p->cut);
    while ((t = task_queue_pop(&p->queue)))
        task_discard(t);
    task_queue_fini(&p->queue);
    free(p->snapshots);
    free(p->weights);
    free(p->owners);
    free(p->list);
    free(p);
}

int pool_connect(struct pool *p, enum placement_policy policy)
{
    bool owners = p->cls->owned;
    assert(!p->snapshots); /* once */
    p->count = p->group.count;
    p->snapshots = calloc(p->count + 1, sizeof(struct snapshot));
    p->owners = owners ? calloc(p->count + 1, sizeof *p->owners) : NULL;
    p->weights = policy == PLACEMENT_WEIGHT ? calloc(p->count + 1, sizeof(struct weight)) : NULL;
    bool all = p->snapshots && (p->owners || !owners) && (p->weights || policy != PLACEMENT_WEIGHT);
    return all ? 0 : -1;
}

static void wake_manager(void *arg)
{
    manager_ask(arg);
}

struct pool *pools_add(struct manager *m, const struct pool_class *cls, uint32_t most)
{
    struct pool **pools = grow_array(m->pools, &m->pool_room, m->pool_count, sizeof *pools);
    if (!pools)
        return NULL;
    m->pools = pools;
    struct pool *p = pool_new(cls, m->pool_count, most, wake_manager, &m->shared->inbox);
    if (!p)
        return NULL;
    p->turn = &m->ready;
    p->waiting = &p->waiting_for_room;
    m->pools[m->pool_count++] = p;
    return p;
}
