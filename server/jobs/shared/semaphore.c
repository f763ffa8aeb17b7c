#include "server/jobs/shared/semaphore.h"

#include <stdlib.h>

#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"
#include "server/jobs/shared/shared.h"

struct semaphore *semaphore_find(const struct jobs *jobs, struct span tenant, struct span name)
{
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    const struct limit *limit = t ? limit_find(jobs->sched.limits, t, name) : NULL;
    return limit ? limit->semaphore : NULL;
}

static size_t semaphore_bytes(const struct semaphore *s)
{
    return sizeof *s + sizeof(struct limit) + sizeof(struct line) +
           semaphore_limit(s)->key.name.len;
}

static bool may_be_made(struct jobs *jobs, struct span tenant, size_t bytes,
                        enum ergon_error *error, char *text, size_t size)
{
    const struct shared *all = jobs->shared;
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    uint32_t left = SEMAPHORES_MAX - all->semaphore_count;
    if (left == 0)
        return shared_refuse(error, ERGON_E_BUSY, text, size, "there are too many semaphores");
    if (!room_is_shared(jobs, (uint64_t)(t ? t->semaphores : 0) + 1, left - 1))
        return shared_refuse(error, ERGON_E_BUSY, text, size,
                             "the tenant has its share of the semaphores that there may be "
                             "(tasks.tenant_share)");
    *error = room_make_bytes(jobs, tenant, bytes, text, size);
    return *error == ERGON_OK;
}

static void link_semaphore(struct shared *all, struct semaphore *s)
{
    s->prev = all->semaphores_last;
    *(s->prev ? &s->prev->next : &all->semaphores) = s;
    all->semaphores_last = s;
    counter_set(&all->shown_semaphores, ++all->semaphore_count);
}

/* What walks stand at goes on behind it. */
static void unlink_semaphore(struct shared *all, const struct semaphore *s)
{
    for (struct semaphore_walk *w = all->walks; w; w = w->next)
        if (w->at == s)
            w->at = s->next;
    *(s->prev ? &s->prev->next : &all->semaphores) = s->next;
    *(s->next ? &s->next->prev : &all->semaphores_last) = s->prev;
    counter_set(&all->shown_semaphores, --all->semaphore_count);
}

/* Counted for its tenant, who cannot go before it. */
static void adopt(struct jobs *jobs, struct semaphore *s, struct tenant *t)
{
    t->semaphores++;
    t->jobs++;
    table_weigh_other(&jobs->table, t, 0, semaphore_bytes(s));
    semaphore_limit(s)->semaphore = s;
    link_semaphore(jobs->shared, s);
}

static struct semaphore *make(struct jobs *jobs, struct tenant *t, struct span name, uint32_t max)
{
    struct semaphore *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->jobs = jobs;
    s->line = line_of_holds(jobs->sched.limits, t, name, max);
    if (!s->line) {
        free(s);
        return NULL;
    }
    adopt(jobs, s, t);
    return s;
}

struct semaphore *semaphore_make(struct jobs *jobs, struct span tenant, struct span name,
                                 uint32_t max, enum ergon_error *error, char *text, size_t size)
{
    struct tenant *t = table_tenant_find(&jobs->table, tenant);
    const struct limit *limit = t ? limit_find(jobs->sched.limits, t, name) : NULL;
    size_t bytes = sizeof(struct semaphore) + sizeof(struct limit) + sizeof(struct line) + name.len;
    if (limit && limit->semaphore)
        return limit->semaphore;
    if (!limit && max == 0) {
        shared_refuse(error, ERGON_E_NOT_FOUND, text, size,
                      "there is no semaphore of this name; `of` makes one, as sem.create does");
        return NULL;
    }
    if (!may_be_made(jobs, tenant, bytes, error, text, size))
        return NULL;
    t = t ? t : table_tenant(&jobs->table, tenant);
    struct semaphore *s = t ? make(jobs, t, name, limit ? limit->max : max) : NULL;
    if (!s)
        shared_refuse(error, ERGON_E_MEMORY, text, size, error_meaning(ERGON_E_MEMORY));
    return s;
}

void semaphore_set_durable(struct semaphore *s, bool durable)
{
    s->durable = durable;
    if (durable)
        semaphore_limit(s)->durable = DURABLE_FSYNC;
}

struct semaphore *semaphore_recover(struct jobs *jobs, struct span tenant, struct span name,
                                    uint32_t max)
{
    struct semaphore *s = semaphore_find(jobs, tenant, name);
    struct tenant *t = s ? NULL : table_tenant(&jobs->table, tenant);
    return s || !t ? s : make(jobs, t, name, max);
}

void semaphore_settle(struct jobs *jobs, struct semaphore *s)
{
    struct tenant *t = semaphore_limit(s)->key.tenant;
    if (semaphore_limit(s)->kept || s->held_count + s->waiting_count > 0)
        return;
    unlink_semaphore(jobs->shared, s);
    semaphore_limit(s)->semaphore = NULL;
    table_weigh_other(&jobs->table, t, semaphore_bytes(s), 0);
    t->semaphores--;
    line_unref(jobs->sched.limits, s->line);
    table_tenant_unref(&jobs->table, t);
    free(s);
}

void semaphore_walk_begin(struct jobs *jobs, struct semaphore_walk *walk)
{
    *walk = (struct semaphore_walk){.next = jobs->shared->walks, .at = jobs->shared->semaphores};
    jobs->shared->walks = walk;
}

struct semaphore *semaphore_walk_next(struct semaphore_walk *walk)
{
    struct semaphore *s = walk->at;
    if (s)
        walk->at = s->next;
    return s;
}

void semaphore_walk_end(struct jobs *jobs, struct semaphore_walk *walk)
{
    struct semaphore_walk **at = &jobs->shared->walks;
    while (*at != walk)
        at = &(*at)->next;
    *at = walk->next;
}
