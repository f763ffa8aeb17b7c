/* sem.list, sem.explain: what there is, who holds it, and who waits, in order. */
#include <stdlib.h>

#include "server/jobs/core/ids.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/sched/wait_position.h"
#include "server/jobs/sched/lines.h"
#include "server/jobs/service/operation.h"
#include "server/jobs/service/view.h"
#include "server/jobs/shared/holds.h"

enum {
    SHOW_WORK = 10, /* see jobs_worked() */
    SHOWN_MAX = 100 /* holders, and who waits */
};

static bool may_know(const struct operation *op, const struct semaphore *s)
{
    const struct limit_key *key = &semaphore_limit(s)->key;
    return operation_may_object(
        op, &(struct rights_object){.tenant = key->tenant->name, .key = key->name});
}

static uint32_t free_of(const struct limit *limit)
{
    return limit->max > limit->taken ? limit->max - limit->taken : 0;
}

/* Seven pairs. */
static void pack_figures(struct pack *p, const struct limit *limit)
{
    pack_key_span(p, "name", limit->key.name);
    pack_key_span(p, "tenant", limit->key.tenant->name);
    pack_key_uint(p, "permits", limit->max);
    pack_key_uint(p, "free", free_of(limit));
    pack_key_uint(p, "held", limit->semaphore ? limit->semaphore->held_count : 0);
    pack_key_uint(p, "waiting", limits_waiting(limit));
    pack_key_bool(p, "durable", limit->semaphore && limit->semaphore->durable);
}

/* --- sem.list --- */

static void begin_list(struct jobs *jobs, struct operation *op)
{
    op->begun = true;
    op->semaphores.count = 0;
    semaphore_walk_begin(jobs, &op->semaphores.walk);
    view_list_begin(&op->reply.result);
}

static void end_list(struct jobs *jobs, struct operation *op)
{
    semaphore_walk_end(jobs, &op->semaphores.walk);
    view_list_end(&op->reply.result, op->semaphores.count);
    operation_finish(op);
}

static bool serve_list(struct jobs *jobs, struct operation *op)
{
    struct semaphore *s = NULL;
    uint32_t begun = jobs->work;
    if (!op->begun)
        begin_list(jobs, op);
    while (jobs->work - begun < TURN_WORK && (s = semaphore_walk_next(&op->semaphores.walk))) {
        bool shown = may_know(op, s);
        jobs_worked(jobs, shown ? SHOW_WORK : 1);
        op->semaphores.count += shown;
        if (!shown)
            continue;
        pack_map(&op->reply.result, 7);
        pack_figures(&op->reply.result, semaphore_limit(s));
    }
    if (op->semaphores.walk.at)
        return false;
    end_list(jobs, op);
    return true;
}

/* --- sem.explain --- */

static void pack_left(struct pack *p, const char *key, ao_time when, ao_time now)
{
    if (when == AO_NEVER)
        pack_key_str(p, key, NULL);
    else
        pack_key_uint(p, key, when > now ? (when - now) / AO_MS(1) : 0);
}

static void pack_hold(const struct jobs *jobs, struct pack *p, const struct hold *h)
{
    ao_time now = table_now(&jobs->table);
    pack_map(p, 8);
    pack_key_str(p, "task", NULL);
    pack_key_span(p, "principal", h->who);
    pack_key_uint(p, "permits", h->claim.want);
    pack_key_uint(p, "fence", h->fence);
    view_ms(p, "since", h->since);
    pack_left(p, "ends_ms", h->ends, now);
    pack_key_bool(p, "connected", h->holder != NULL);
    pack_left(p, "grace_ms", h->lost_until, now);
}

/* Of a task that who asks may not know it is shown that there is one. */
static void pack_task(const struct operation *op, struct pack *p, const struct job *job)
{
    char id[ID_TEXT_SIZE];
    pack_map(p, 8);
    pack_key_str(p, "task", operation_may_know(op, job) ? id_text(job->id, id) : "");
    pack_key_str(p, "principal", NULL);
    pack_key_uint(p, "permits", job->more->claim.want);
    pack_key_str(p, "fence", NULL);
    view_ms(p, "since", job->started);
    pack_key_str(p, "ends_ms", NULL);
    pack_key_bool(p, "connected", true);
    pack_key_str(p, "grace_ms", NULL);
}

static void pack_holders(struct jobs *jobs, const struct operation *op, struct limit *limit,
                         struct pack *p)
{
    const struct job *tasks[SHOWN_MAX];
    uint32_t looks = LOOKS_MAX, count = limit_jobs(&jobs->sched, limit, tasks, SHOWN_MAX, &looks);
    uint32_t held = limit->semaphore ? limit->semaphore->held_count : 0;
    held = held < SHOWN_MAX ? held : SHOWN_MAX;
    jobs_worked(jobs, LOOKS_MAX - looks);
    pack_str(p, "holders");
    pack_array(p, count + held);
    for (uint32_t i = 0; i < count; i++)
        pack_task(op, p, tasks[i]);
    const struct hold *h = limit->semaphore ? limit->semaphore->first : NULL;
    for (; h && held > 0; h = h->next, held--)
        pack_hold(jobs, p, h);
}

static void pack_waiter(const struct jobs *jobs, const struct operation *op, struct pack *p,
                        const struct claim *c)
{
    char id[ID_TEXT_SIZE];
    const struct job *job = c->kind == CLAIM_OF_JOB ? claim_job(c) : NULL;
    pack_map(p, 4);
    if (job)
        pack_key_str(p, "task", operation_may_know(op, job) ? id_text(job->id, id) : "");
    else
        pack_key_str(p, "task", NULL);
    if (job)
        pack_key_str(p, "principal", NULL);
    else
        pack_key_span(p, "principal", ao_of((struct claim *)(uintptr_t)c, struct hold, claim)->who);
    pack_key_uint(p, "permits", c->want);
    pack_key_uint(p, "waited_ms", (table_now(&jobs->table) - c->arrived) / AO_MS(1));
}

static void pack_waiters(struct jobs *jobs, const struct operation *op, const struct limit *limit,
                         struct pack *p)
{
    const struct claim *first[SHOWN_MAX];
    uint32_t looks = LOOKS_MAX, count = limits_first(limit, first, SHOWN_MAX, &looks);
    jobs_worked(jobs, LOOKS_MAX - looks);
    pack_str(p, "waiters");
    pack_array(p, count);
    for (uint32_t i = 0; i < count; i++)
        pack_waiter(jobs, op, p, first[i]);
}

/* One that only tasks have taken of has no semaphore, and is shown all the same. */
static struct limit *find(const struct jobs *jobs, const struct operation *op, struct span tenant)
{
    const struct semaphore_arguments *a = &op->semaphore;
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    return t ? limit_find(jobs->sched.limits, t, a->name) : NULL;
}

static void serve_explain(struct jobs *jobs, struct operation *op)
{
    const struct semaphore_arguments *a = &op->semaphore;
    const struct rights_object whose = {.tenant = a->tenant.len > 0 ? a->tenant : op->tenant,
                                        .key = a->name};
    struct limit *limit = find(jobs, op, whose.tenant);
    struct pack *p = &op->reply.result;
    if (!limit || !operation_may_object(op, &whose)) {
        operation_refuse(op, ERGON_E_NOT_FOUND, "there is no semaphore of this name");
        return;
    }
    pack_init(p);
    pack_map(p, 9);
    pack_figures(p, limit);
    pack_holders(jobs, op, limit, p);
    pack_waiters(jobs, op, limit, p);
    operation_finish(op);
}

const struct operation_class operation_sem_list = {.method = method_sem_list,
                                                   .serve_part = serve_list};
const struct operation_class operation_sem_explain = {.method = method_sem_explain,
                                                      .serve = serve_explain};
