#include "server/tasks/manager/holders.h"

#include "server/accounts/tally.h"

enum { LOOKED_AT = 32 /* of the lines that wait: more would cost more than it is worth */ };

enum { OF_NOBODY = 0, OF_JOBS = UINT32_MAX };

static uint32_t holder_of(const struct task *t)
{
    if (!t || task_is(t, TASK_ATTEMPT))
        return OF_JOBS;
    return t->tally ? t->tally->account->index + 1 : OF_NOBODY;
}

static bool holds_one(const struct manager_kind *k, uint32_t holder)
{
    for (uint32_t i = 0; i < k->count; i++)
        if (k->snapshots[i].outstanding > 0 && k->holders[i] == holder)
            return true;
    return false;
}

bool holders_matter(const struct manager_kind *k)
{
    if (k->count > k->common)
        return true;
    for (uint32_t i = 0; i < k->count; i++)
        if (k->snapshots[i].bound > 1)
            return true;
    return false;
}

bool holders_allow_nested(const struct manager_kind *k, uint32_t i, const struct task *t)
{
    return k->snapshots[i].outstanding == 0 || k->holders[i] == holder_of(t);
}

bool holders_allow(const struct manager_kind *k, uint32_t i, const struct task *t)
{
    if (i >= k->common)
        return !holds_one(k, holder_of(t));
    return !k->passed_over && holders_allow_nested(k, i, t);
}

void holders_note(struct manager *m, struct manager_kind *k, int chosen, const struct task *t)
{
    k->holders[chosen] = holder_of(t);
    if ((uint32_t)chosen >= k->common)
        atomic_store_explicit(&m->shared->crowd_served, true, memory_order_relaxed);
}

static bool somebody_holds_none(const struct manager_kind *k, bool jobs)
{
    const struct task *t;
    if (jobs && !holds_one(k, OF_JOBS))
        return true;
    for (uint32_t i = 0; i < LOOKED_AT && (t = task_queue_look(&k->queue, i)); i++)
        if (!task_flagged(t) && !holds_one(k, holder_of(t)))
            return true;
    return false;
}

/* How many of the executors are at work is the business of who starts them: it is asked. */
static void ask_for_spare(const struct tasks_shared *s)
{
    if (s->crowded)
        s->crowded(s->crowded_arg);
}

void holders_serve(struct manager *m, struct manager_kind *k)
{
    if (k->crowded_since == 0)
        return;
    k->crowded_since = 0;
    atomic_store_explicit(&m->shared->blocking_crowded, false, memory_order_relaxed);
}

ao_time holders_wait(struct manager *m, struct manager_kind *k)
{
    ao_time now = activator_now(m->activator);
    if (!somebody_holds_none(k, k->source_has_work)) {
        holders_serve(m, k);
        return AO_NEVER;
    }
    if (k->crowded_since == 0)
        k->crowded_since = now ? now : 1;
    ao_time until = k->crowded_since + HOLDERS_PATIENCE;
    if (now < until)
        return until;
    atomic_store_explicit(&m->shared->blocking_crowded, true, memory_order_relaxed);
    if (k->count == m->shared->groups[kind_index(k->kind)].count)
        return AO_NEVER; /* none of them rests */
    ask_for_spare(m->shared);
    k->crowded_since = now;
    return now + HOLDERS_PATIENCE;
}
