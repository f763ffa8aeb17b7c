#include "server/tasks/manager/stalls.h"

#include "server/runtime/object/trace.h"

/* The queue takes them from the inbox in order, and each goes in front of the one before. */
static struct lane_item *reverse(struct lane_item *list)
{
    struct lane_item *reversed = NULL, *next;
    for (; list; list = next) {
        next = list->next;
        list->next = reversed;
        reversed = list;
    }
    return reversed;
}

static void requeue(struct manager *m, const struct executor *e, struct task *t)
{
    TRACE(m->activator, "manager", 0, "task %llu taken back from executor %u",
          (unsigned long long)t->number, e->index + 1);
    manager_requeue(&m->shared->inbox, t);
}

/* At most so many: one task stays.  It runs; or the thread is only late to wake, and will run it.
 * Returns how many there were. */
static uint32_t take_back(struct manager *m, struct executor *e, uint32_t most)
{
    uint32_t given = atomic_load_explicit(&e->given, memory_order_relaxed), count = 0;
    struct lane_item *next;
    for (struct lane_item *i = reverse(lane_take_back(e->in, most)); i; i = next) {
        next = i->next;
        requeue(m, e, ao_of(i, struct task, item));
        count++;
    }
    assert(count <= most);
    atomic_store_explicit(&e->given, given - count, memory_order_relaxed);
    return count;
}

/* True: it has more than one task still. */
static bool look_at(struct manager *m, struct executor *e)
{
    uint32_t given = atomic_load_explicit(&e->given, memory_order_relaxed);
    uint32_t left = atomic_load_explicit(&e->left, memory_order_relaxed);
    uint64_t now = given != left ? (uint64_t)left + 1 : 0;
    bool stalled = now != 0 && now == e->seen;
    counter_set(&e->stalled, stalled ? now : 0);
    e->seen = now;
    if (stalled)
        given -= take_back(m, e, given - left - 1);
    return given - left > 1;
}

static enum ao_verdict look(struct ao *self)
{
    struct manager *m = ao_of(self, struct manager, stalls);
    const struct executor_group *g = &m->shared->local[POOL_BLOCKING]->group;
    m->stalls_watched = false;
    for (uint32_t i = 0; i < g->count; i++)
        m->stalls_watched |= look_at(m, g->list[i]);
    if (!m->stalls_watched)
        return AO_DONE;
    ao_sleep_for(self, STALLS_MAX_WAIT);
    return AO_PARK;
}

static const struct ao_class stalls_class = {.name = "stalls", .step = look};

/* The handler is on the stack from before its executor counts it out until it has returned. */
static bool runs_behind(const struct pool *p, int chosen)
{
    return p->snapshots[chosen].outstanding > 1 ||
           atomic_load_explicit(&p->group.list[chosen]->running, memory_order_relaxed);
}

void stalls_note(struct manager *m, const struct pool *p, int chosen)
{
    assert(p->snapshots[chosen].outstanding > 0);
    if (m->stalls_watched || !runs_behind(p, chosen))
        return;
    m->stalls_watched = true;
    ao_sleep_until(&m->stalls, activator_now(m->activator) + STALLS_MAX_WAIT);
}

void stalls_bound(struct pool *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        struct executor *e = p->group.list[i];
        if (p->snapshots[i].bound <= 1 || !executor_is_stalled(e))
            continue;
        p->snapshots[i].bound = 1;
        counter_set(&e->bound, 1);
    }
}

void stalls_init(struct manager *m)
{
    ao_init(&m->stalls, &stalls_class, m->activator);
}

void stalls_fini(struct manager *m)
{
    ao_deactivate(&m->stalls);
    ao_fini(&m->stalls);
}
