/* The manager is put together and taken apart. */
#include <stdlib.h>

#include "server/tasks/manager/manager.h"
#include "server/tasks/tasks_parts.h"

enum { LANE_OUT = 64 /* flagged tasks on their way to one home; more overflow */ };

static void wake_manager(void *arg)
{
    manager_ask(arg);
}

int manager_init(struct manager *m, struct tasks *tasks, struct activator *activator)
{
    m->tasks = tasks;
    m->activator = activator;
    mpsc_init(&m->inbox);
    mpsc_init(&m->notes);
    for (unsigned i = 0; i < KINDS; i++)
        waker_init(&m->kinds[i].waiting_for_room, wake_manager, m);
    ao_init(&m->ao, &manager_class, activator);
    m->handle = ao_handle_new(&m->ao);
    return m->handle ? 0 : -1;
}

static int connect_homes(struct manager *m)
{
    uint32_t count = m->tasks->home_count;
    m->inlets = calloc(count, sizeof(struct lane *));
    m->out = tasks_new_lanes(count);
    if (!m->inlets || !m->out)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        struct home *h = m->tasks->homes[i];
        if (h != &m->home)
            m->inlets[m->inlet_count++] = &h->to_manager;
        if (h->activator == m->activator)
            continue;
        if (lane_init(&m->out[i], LANE_OUT, m->activator, &h->intake) != 0)
            return -1;
        h->inlets[h->inlet_count++] = &m->out[i];
    }
    return 0;
}

static int connect_kind(struct manager *m, enum ergon_kind kind)
{
    struct manager_kind *k = &m->kinds[kind_index(kind)];
    uint32_t all = m->tasks->plan.executor_count;
    k->executors = calloc(all, sizeof(struct executor *));
    k->snapshots = calloc(all, sizeof(struct snapshot));
    if (!k->executors || !k->snapshots)
        return -1;
    for (uint32_t i = 0; i < all; i++)
        if (m->tasks->executors[i]->plan.kind == kind)
            k->executors[k->count++] = m->tasks->executors[i];
    k->last = PLACEMENT_NONE;
    return 0;
}

int manager_connect(struct manager *m)
{
    if (connect_homes(m) != 0 || connect_kind(m, ERGON_STEPPED) != 0 ||
        connect_kind(m, ERGON_BLOCKING) != 0)
        return -1;
    return 0;
}

static void free_left(struct manager *m)
{
    struct task *t;
    for (unsigned i = 0; i < KINDS; i++)
        while ((t = queue_pop(&m->kinds[i].queue)))
            tasks_free_leftover(t);
    struct mpsc_item *next;
    for (struct mpsc_item *item = mpsc_take(&m->inbox); item; item = next) {
        next = item->next;
        tasks_free_leftover(ao_of(item, struct task, inbox));
    }
}

void manager_fini(struct manager *m)
{
    free_left(m);
    job_source_free_notes(m);
    for (uint32_t i = 0; m->out && i < m->tasks->home_count; i++)
        if (m->out[i].ring.slots)
            tasks_close_lane(&m->out[i]);
    free(m->out);
    free(m->inlets);
    for (unsigned i = 0; i < KINDS; i++) {
        free(m->kinds[i].executors);
        free(m->kinds[i].snapshots);
    }
    if (!m->handle)
        return;
    if (ao_state(&m->ao) == AO_STATE_ACTIVE)
        ao_deactivate(&m->ao);
    ao_fini(&m->ao);
    ao_handle_unref(m->handle);
}
