#include "server/jobs/semaphores/semaphore.h"

#include <assert.h>
#include <stdlib.h>

#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"

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

static bool may_be_made(struct jobs *jobs, struct span tenant, size_t bytes, struct refusal *why)
{
    const struct semaphores *all = jobs->semaphores;
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    uint32_t left = SEMAPHORES_MAX - all->count;
    if (left == 0)
        return refusal_set(why, ERGON_E_BUSY, "there are too many semaphores");
    if (!room_is_shared(jobs, (uint64_t)(t ? t->semaphores : 0) + 1, left - 1))
        return refusal_set(why, ERGON_E_BUSY,
                           "the tenant has its share of the semaphores that there may be "
                           "(tasks.tenant_share)");
    why->error = room_make_bytes(jobs, tenant, bytes, why->text, sizeof why->text);
    return why->error == ERGON_OK;
}

static void link_semaphore(struct semaphores *all, struct semaphore *s)
{
    s->prev = all->last;
    *(s->prev ? &s->prev->next : &all->first) = s;
    all->last = s;
    counter_set(&all->shown, ++all->count);
}

/* A walk whose next semaphore this is goes on behind it. */
static void unlink_semaphore(struct semaphores *all, const struct semaphore *s)
{
    for (struct semaphore_walk *w = all->walks; w; w = w->next)
        if (w->at == s)
            w->at = s->next;
    *(s->prev ? &s->prev->next : &all->first) = s->next;
    *(s->next ? &s->next->prev : &all->last) = s->prev;
    counter_set(&all->shown, --all->count);
}

/* Counted for its tenant, which cannot go before it. */
static void adopt(struct jobs *jobs, struct semaphore *s, struct tenant *t)
{
    t->semaphores++;
    t->jobs++;
    table_weigh_other(&jobs->table, t, 0, semaphore_bytes(s));
    semaphore_limit(s)->semaphore = s;
    link_semaphore(jobs->semaphores, s);
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
                                 uint32_t max, struct refusal *why)
{
    struct tenant *t = table_tenant_find(&jobs->table, tenant);
    const struct limit *limit = t ? limit_find(jobs->sched.limits, t, name) : NULL;
    size_t bytes = sizeof(struct semaphore) + sizeof(struct limit) + sizeof(struct line) + name.len;
    if (limit && limit->semaphore)
        return limit->semaphore;
    if (!limit && max == 0) {
        refusal_set(why, ERGON_E_NOT_FOUND,
                    "there is no semaphore of this name; `of` makes one, as sem.create does");
        return NULL;
    }
    if (!may_be_made(jobs, tenant, bytes, why))
        return NULL;
    t = t ? t : table_tenant(&jobs->table, tenant);
    struct semaphore *s = t ? make(jobs, t, name, limit ? limit->max : max) : NULL;
    if (!s)
        refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
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
    if (semaphore_limit(s)->kept || s->held_count + s->waiting_count > 0 || s->row > 0 ||
        s->writes > 0)
        return;
    assert(!s->first && !s->waiting && semaphore_limit(s)->semaphore == s);
    assert(!s->unsaved); /* the row of such a one may be there */
    assert(t->semaphores > 0);
    unlink_semaphore(jobs->semaphores, s);
    semaphore_limit(s)->semaphore = NULL;
    table_weigh_other(&jobs->table, t, semaphore_bytes(s), 0);
    t->semaphores--;
    line_unref(jobs->sched.limits, s->line);
    table_tenant_unref(&jobs->table, t);
    free(s);
}

void semaphore_walk_begin(struct jobs *jobs, struct semaphore_walk *walk)
{
    *walk = (struct semaphore_walk){.next = jobs->semaphores->walks, .at = jobs->semaphores->first};
    jobs->semaphores->walks = walk;
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
    struct semaphore_walk **at = &jobs->semaphores->walks;
    while (*at != walk)
        at = &(*at)->next;
    *at = walk->next;
}
