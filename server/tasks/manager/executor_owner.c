#include "server/tasks/manager/executor_owner.h"

#include "server/accounts/tally.h"

enum { LOOKED_AT = 32 /* of the lines that wait: more would cost more than it is worth */ };

enum { OF_NOBODY = 0, OF_JOBS = UINT32_MAX };

static uint32_t owner_of(const struct task *t)
{
    if (!t || task_is(t, TASK_ATTEMPT))
        return OF_JOBS;
    return t->tally ? t->tally->account->index + 1 : OF_NOBODY;
}

static bool holds_one(const struct pool *p, uint32_t owner)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->snapshots[i].outstanding > 0 && p->owners[i] == owner)
            return true;
    return false;
}

bool executor_owners_matter(const struct pool *p)
{
    if (p->count > p->common)
        return true;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->snapshots[i].bound > 1)
            return true;
    return false;
}

bool executor_owner_allow_nested(const struct pool *p, uint32_t i, const struct task *t)
{
    return p->snapshots[i].outstanding == 0 || p->owners[i] == owner_of(t);
}

bool executor_owner_allow(const struct pool *p, uint32_t i, const struct task *t)
{
    if (i >= p->common)
        return !holds_one(p, owner_of(t));
    return !p->passed_over && executor_owner_allow_nested(p, i, t);
}

void executor_owner_note(struct manager *m, struct pool *p, int chosen, const struct task *t)
{
    assert((uint32_t)chosen < p->count && p->owners);
    p->owners[chosen] = owner_of(t);
    if ((uint32_t)chosen >= p->common)
        atomic_store_explicit(&m->shared->crowd_served, true, memory_order_relaxed);
}

/* `x` has the executors. */
static bool somebody_holds_none(const struct pool *p, const struct pool *x)
{
    const struct task *t;
    if (p->source_has_work && !holds_one(x, OF_JOBS))
        return true;
    for (uint32_t i = 0; i < LOOKED_AT && (t = task_queue_look(&p->queue, i)); i++)
        if (!task_flagged(t) && !holds_one(x, owner_of(t)))
            return true;
    return false;
}

/* The thread that starts executors decides how many are at work: it is asked. */
static void ask_for_spare(const struct tasks_shared *s)
{
    if (s->crowded)
        s->crowded(s->crowded_arg);
}

void executor_owner_serve(struct manager *m, struct pool *p)
{
    if (p->crowded_since == 0)
        return;
    p->crowded_since = 0;
    atomic_store_explicit(&m->shared->blocking_crowded, false, memory_order_relaxed);
}

ao_time executor_owner_wait(struct manager *m, struct pool *p, const struct pool *x)
{
    ao_time now = activator_now(m->activator);
    assert(x->owners);
    if (!somebody_holds_none(p, x)) {
        executor_owner_serve(m, p);
        return AO_NEVER;
    }
    if (p->crowded_since == 0)
        p->crowded_since = now ? now : 1;
    ao_time until = p->crowded_since + EXECUTOR_OWNER_MAX_WAIT;
    if (now < until)
        return until;
    atomic_store_explicit(&m->shared->blocking_crowded, true, memory_order_relaxed);
    if (x->count == x->group.count)
        return AO_NEVER; /* none of them rests */
    ask_for_spare(m->shared);
    p->crowded_since = now;
    return now + EXECUTOR_OWNER_MAX_WAIT;
}
