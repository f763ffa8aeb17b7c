#include "server/tasks/manager/shares.h"

#define PATIENCE AO_MS(100) /* beside the times of its tasks */

static ao_time until(const struct manager_kind *k, uint32_t i)
{
    return k->shares[i].since + PATIENCE + 2 * counter_read(&k->executors[i]->service_ns);
}

static bool is_full(const struct snapshot *s)
{
    return s->outstanding >= s->bound;
}

/* A newcomer has had what its weight is worth of what the first was given. */
static void join(struct manager_kind *k, struct share *share, uint32_t i)
{
    share->known = true;
    share->history = k->shares[0].history * placement_weight(&k->snapshots[i]) /
                     placement_weight(&k->snapshots[0]);
}

/* Stand-ins that are at work no more: what is given meanwhile is not theirs, and when they come
 * again they are newcomers. */
static void forget_the_rest(struct manager_kind *k)
{
    for (uint32_t i = k->count; i < k->shared; i++)
        k->shares[i].known = false;
    k->shared = k->count;
}

void shares_look(struct manager_kind *k, ao_time now)
{
    forget_the_rest(k);
    for (uint32_t i = 0; i < k->count; i++) {
        struct share *share = &k->shares[i];
        if (!share->known)
            join(k, share, i);
        uint32_t left = atomic_load_explicit(&k->executors[i]->left, memory_order_relaxed);
        if (left != share->left || !is_full(&k->snapshots[i])) {
            share->left = left;
            share->since = now;
        }
        k->snapshots[i].history = share->history;
    }
}

bool shares_await(const struct manager_kind *k, uint32_t i, ao_time now)
{
    return k->snapshots[i].bound > 0 && now < until(k, i);
}

void shares_note(struct manager_kind *k, int chosen)
{
    struct snapshot *of = &k->snapshots[chosen];
    uint64_t given = of->history = ++k->shares[chosen].history;
    for (uint32_t i = 0; i < k->count; i++) {
        struct snapshot *s = &k->snapshots[i];
        uint64_t share = given * placement_weight(s) / placement_weight(of);
        if (is_full(s) && !s->awaited && s->history < share)
            s->history = k->shares[i].history = share;
    }
}

ao_time shares_patience(const struct manager_kind *k)
{
    ao_time first = AO_NEVER;
    for (uint32_t i = 0; i < k->count; i++)
        if (k->snapshots[i].awaited && is_full(&k->snapshots[i]) && until(k, i) < first)
            first = until(k, i);
    return first;
}
