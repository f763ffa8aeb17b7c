#include "server/jobs/events/named_events.h"

#include <assert.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "server/jobs/core/ids.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs_parts.h"
#include "server/jobs/life/retention.h"

static uint64_t hash_of(const struct job_table *table, const struct tenant *t, struct span name)
{
    const uint64_t seed[2] = {table->seed[0] ^ (uintptr_t)t, table->seed[1]};
    return siphash(seed, name);
}

static struct named_event *find(const struct events *all, const struct tenant *t, struct span name,
                                uint64_t hash)
{
    for (struct hash_link *link = hash_first(&all->by_name, hash); link; link = hash_next(link)) {
        struct named_event *e = (struct named_event *)link;
        if (e->tenant == t && span_equal(e->name, name))
            return e;
    }
    return NULL;
}

struct named_event *event_find(const struct jobs *jobs, struct span tenant, struct span name)
{
    const struct tenant *t = table_tenant_find(&jobs->table, tenant);
    return t ? find(jobs->events, t, name, hash_of(&jobs->table, t, name)) : NULL;
}

/* --- Among those that may go --- */

static struct named_event *event_of(const struct pairing_node *idle)
{
    return ao_of((struct pairing_node *)(uintptr_t)idle, struct named_event, idle);
}

static bool set_before(const struct pairing_node *a, const struct pairing_node *b)
{
    return event_of(a)->seq < event_of(b)->seq;
}

static void leave_idle(struct named_event *e)
{
    if (e->is_idle)
        pairing_remove(&e->tenant->events.idle, &e->idle);
    e->is_idle = false;
}

/* It has been set, or somebody waits no more. */
static void see_whether_idle(struct named_event *e)
{
    struct pairing_heap *idle = &e->tenant->events.idle;
    if (e->is_idle || e->waiters || e->seq == 0)
        return;
    if (!idle->root)
        pairing_init(idle, set_before);
    pairing_add(idle, &e->idle);
    e->is_idle = true;
}

/* --- Made and dropped --- */

static size_t bytes_of(const struct named_event *e)
{
    return sizeof *e + e->name.len + e->value_len;
}

static void drop(struct jobs *jobs, struct named_event *e)
{
    struct tenant *t = e->tenant;
    assert(!e->waiters);
    leave_idle(e);
    hash_remove(&jobs->events->by_name, &e->by_name);
    counter_set(&jobs->events->shown, jobs->events->by_name.count);
    assert(t->events.count > 0);
    t->events.count--;
    table_weigh_other(&jobs->table, t, bytes_of(e), 0);
    table_tenant_unref(&jobs->table, t);
    free(e->value);
    free(e);
}

void event_settle(struct jobs *jobs, struct named_event *e)
{
    if (e->seq == 0 && !e->waiters)
        drop(jobs, e);
}

static bool drop_oldest(struct jobs *jobs, const struct tenant *t)
{
    const struct pairing_node *oldest = t->events.idle.root;
    if (oldest)
        drop(jobs, event_of(oldest));
    return oldest != NULL;
}

/* Is there room for one more of the tenant, which another one may have had to go for? */
static bool make_room(struct jobs *jobs, struct span tenant, size_t bytes, struct refusal *why)
{
    struct tenant *t = table_tenant_find(&jobs->table, tenant);
    uint32_t own = t ? t->events.count : 0, left = NAMED_EVENTS_MAX - jobs->events->by_name.count;
    bool full = own >= NAMED_EVENTS_OF_TENANT || left == 0 ||
                !room_is_shared(jobs, (uint64_t)own + 1, left - 1);
    if (full && (own == 0 || !drop_oldest(jobs, t)))
        return refusal_set(why, ERGON_E_BUSY, "there are too many events");
    why->error = room_make_bytes(jobs, tenant, bytes, why->text, sizeof why->text);
    return why->error == ERGON_OK;
}

static struct named_event *make(struct jobs *jobs, struct tenant *t, struct span name)
{
    struct named_event *e = calloc(1, sizeof *e + name.len);
    if (!e)
        return NULL;
    memcpy(e + 1, name.at, name.len);
    e->name = span_of(e + 1, name.len);
    e->tenant = t;
    e->by_name.hash = hash_of(&jobs->table, t, name);
    hash_add(&jobs->events->by_name, &e->by_name);
    counter_set(&jobs->events->shown, jobs->events->by_name.count);
    t->events.count++;
    t->jobs++;
    table_weigh_other(&jobs->table, t, 0, bytes_of(e));
    return e;
}

struct named_event *event_make(struct jobs *jobs, struct span tenant, struct span name,
                               struct refusal *why)
{
    struct named_event *e = event_find(jobs, tenant, name);
    if (e)
        return e;
    if (!make_room(jobs, tenant, sizeof *e + name.len, why))
        return NULL;
    struct tenant *t = table_tenant(&jobs->table, tenant);
    e = t ? make(jobs, t, name) : NULL;
    if (!e)
        refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    return e;
}

/* --- Set --- */

bool event_set(struct jobs *jobs, struct named_event *e, struct span value, struct refusal *why)
{
    size_t more = value.len > e->value_len ? value.len - e->value_len : 0, was = bytes_of(e);
    why->error = room_make_bytes(jobs, e->tenant->name, more, why->text, sizeof why->text);
    if (why->error != ERGON_OK)
        return false;
    uint8_t *copy = malloc(value.len > 0 ? value.len : 1);
    if (!copy)
        return refusal_set(why, ERGON_E_MEMORY, error_meaning(ERGON_E_MEMORY));
    if (value.len > 0)
        memcpy(copy, value.at, value.len);
    leave_idle(e); /* its number changes */
    free(e->value);
    e->value = copy;
    e->value_len = (uint32_t)value.len;
    e->seq = stamp_next(&jobs->table.last_stamp, table_wall(&jobs->table));
    table_weigh_other(&jobs->table, e->tenant, was, bytes_of(e));
    see_whether_idle(e);
    return true;
}

/* --- Waited for --- */

void event_join(struct named_event *e, struct event_waiter *w)
{
    leave_idle(e);
    w->prev = NULL;
    w->next = e->waiters;
    if (w->next)
        w->next->prev = w;
    e->waiters = w;
}

void event_leave(struct named_event *e, struct event_waiter *w)
{
    *(w->prev ? &w->prev->next : &e->waiters) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    see_whether_idle(e);
}

void events_free(struct jobs *jobs)
{
    while (jobs->events->by_name.count > 0) {
        struct hash_link *link = hash_pop(&jobs->events->by_name);
        hash_add(&jobs->events->by_name, link);
        drop(jobs, (struct named_event *)link);
    }
}
