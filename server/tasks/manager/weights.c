#include "server/tasks/manager/weights.h"

#define MAX_WAIT AO_MS(100) /* beside the times of its tasks */

static ao_time until(const struct pool *p, uint32_t i)
{
    return p->weights[i].since + MAX_WAIT + 2 * counter_read(&p->group.list[i]->service_ns);
}

static bool is_full(const struct snapshot *s)
{
    return s->outstanding >= s->bound;
}

/* An executor that is new here has had what its weight is worth of what the first was given. */
static void join(struct pool *p, struct weight *share, uint32_t i)
{
    share->known = true;
    share->history = p->weights[0].history * placement_weight(&p->snapshots[i]) /
                     placement_weight(&p->snapshots[0]);
}

/* Spares that are at work no more: what is given meanwhile is not theirs, and when they come again
 * they are new here. */
static void forget_the_rest(struct pool *p)
{
    for (uint32_t i = p->count; i < p->shared; i++)
        p->weights[i].known = false;
    p->shared = p->count;
}

void weights_look(struct pool *p, ao_time now)
{
    forget_the_rest(p);
    for (uint32_t i = 0; i < p->count; i++) {
        struct weight *share = &p->weights[i];
        if (!share->known)
            join(p, share, i);
        uint32_t left = atomic_load_explicit(&p->group.list[i]->left, memory_order_relaxed);
        if (left != share->left || !is_full(&p->snapshots[i])) {
            share->left = left;
            share->since = now;
        }
        p->snapshots[i].history = share->history;
    }
}

bool weights_await(const struct pool *p, uint32_t i, ao_time now)
{
    return p->snapshots[i].bound > 0 && now < until(p, i);
}

void weights_note(struct pool *p, int chosen)
{
    assert(p->weights && (uint32_t)chosen < p->count);
    struct snapshot *of = &p->snapshots[chosen];
    uint64_t given = of->history = ++p->weights[chosen].history;
    for (uint32_t i = 0; i < p->count; i++) {
        struct snapshot *s = &p->snapshots[i];
        uint64_t share = given * placement_weight(s) / placement_weight(of);
        if (is_full(s) && !s->awaited && s->history < share)
            s->history = p->weights[i].history = share;
    }
}

ao_time weights_max_wait(const struct pool *p)
{
    ao_time first = AO_NEVER;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->snapshots[i].awaited && is_full(&p->snapshots[i]) && until(p, i) < first)
            first = until(p, i);
    return first;
}
