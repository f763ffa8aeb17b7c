#include "server/jobs/sched/pool_rest.h"

#include <stdlib.h>

#include "server/jobs/sched/admission.h"
#include "server/tasks/job_source.h"

static const ao_time pause_first = AO_S(1), pause_most = AO_S(60);

/* --- The time of the next try --- */

/* From now on what a job is called for is kept for it: else holds that come again and again would
 * have it before each try. */
static void allow(struct scheduler *s, const struct pool_rest *r)
{
    admission_set_rests(s, r->pool, false);
    job_source_wake(s->tasks, r->pool);
}

static enum ao_verdict rest_due(struct ao *self)
{
    const struct pool_rest *r = ao_of(self, struct pool_rest, timer);
    allow(r->scheduler, r);
    return AO_DONE;
}

static const struct ao_class rest_class = {.name = "pool rest", .step = rest_due};

static void try_at(struct pool_rest *r, ao_time when)
{
    r->next = when;
    ao_deactivate(&r->timer);
    ao_sleep_until(&r->timer, when);
    admission_set_rests(r->scheduler, r->pool, true);
}

static void rest(struct scheduler *s, struct pool_rest *r)
{
    ao_time doubled = 2 * r->pause < pause_most ? 2 * r->pause : pause_most;
    r->pause = r->pause > 0 ? doubled : pause_first;
    r->trial = NULL;
    try_at(r, table_time_after(s->table, r->pause));
}

/* --- What happens to its tasks --- */

static struct pool_rest *rest_of(struct scheduler *s, struct pool_jobs *pool)
{
    struct pool_rest *r = pool->rest ? pool->rest : calloc(1, sizeof *r);
    if (!r || pool->rest)
        return r;
    r->scheduler = s;
    r->pool = pool->queue.pool;
    ao_init(&r->timer, &rest_class, s->table->activator);
    return pool->rest = r;
}

void pool_rest_taken(struct scheduler *s, struct pool_jobs *pool, struct job *job)
{
    if (!pool_rests(pool))
        return;
    pool->rest->trial = job;
    try_at(pool->rest, table_time_after(s->table, pause_most));
}

void pool_rest_left(struct scheduler *s, struct pool_jobs *pool, const struct job *job)
{
    if (!pool_rests(pool) || pool->rest->trial != job)
        return;
    pool->rest->trial = NULL;
    pool->rest->next = table_now(s->table);
    allow(s, pool->rest);
}

/* What was out before the rest began says nothing new. */
void pool_rest_lost(struct scheduler *s, struct pool_jobs *pool, const struct job *job)
{
    struct pool_rest *r = rest_of(s, pool);
    if (!r)
        return;
    bool tried = pool_rests(pool) && r->trial == job;
    bool begins = r->lost < RESTS_AFTER && ++r->lost == RESTS_AFTER;
    if (tried || begins)
        rest(s, r);
}

void pool_rest_answered(struct scheduler *s, struct pool_jobs *pool)
{
    struct pool_rest *r = pool->rest;
    if (!r || r->lost == 0)
        return;
    bool rested = pool_rests(pool);
    r->lost = 0;
    r->pause = 0;
    r->trial = NULL;
    ao_deactivate(&r->timer);
    if (rested)
        allow(s, r);
}

void pool_rest_fini(struct pool_table *pools)
{
    for (uint32_t i = 0; i < pools->room; i++) {
        struct pool_rest *r = pools->pools[i] ? pools->pools[i]->rest : NULL;
        if (!r)
            continue;
        ao_deactivate(&r->timer);
        ao_fini(&r->timer);
        free(r);
        pools->pools[i]->rest = NULL;
    }
}
