#include "server/jobs/actors/residents.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/siphash.h"
#include "base/utf8.h"
#include "server/jobs/accessors.h"
#include "server/jobs/core/names.h"
#include "server/jobs/jobs.h"
#include "server/jobs/life/retention.h"

static const struct jobs_limits *limits_of(const struct actors *actors)
{
    return &jobs_options(actors->jobs)->settings.limits;
}

/* --- By name --- */

uint64_t actor_hash(const struct actors *actors, const struct tenant *tenant, struct span name)
{
    const uint64_t *seed = jobs_table(actors->jobs)->seed;
    uint64_t of_tenant[2] = {seed[0] ^ tenant->link.hash, seed[1]};
    return siphash(of_tenant, name);
}

struct actor *actor_find_hashed(const struct actors *actors, const struct tenant *tenant,
                                struct span name, uint64_t hash)
{
    struct hash_link *link = hash_first(&actors->by_name, hash);
    for (; link; link = hash_next(link)) {
        struct actor *a = (struct actor *)link;
        if (a->tenant == tenant && span_equal(actor_name(a), name))
            return a;
    }
    return NULL;
}

struct actor *actor_find(const struct actors *actors, struct span tenant, struct span name)
{
    const struct tenant *t = table_tenant_find(jobs_table(actors->jobs), tenant);
    return t ? actor_find_hashed(actors, t, name, actor_hash(actors, t, name)) : NULL;
}

/* --- What they take --- */

static size_t bytes_of(const struct actor *a)
{
    enum { HEADER = 16 /* malloc's */ };
    const struct blob *shared = actor_state(a).shared;
    return actor_size(a->name_len) + cell_size(a->own_len) + (a->more ? sizeof *a->more : 0) +
           (shared ? blob_size(shared) + HEADER : 0);
}

static enum actor_charge charge_of(const struct actor *a)
{
    if (a->residence != ACTOR_HERE)
        return ACTOR_IS_TASK;
    return a->idle && actor_is_durable(a) ? ACTOR_IS_COPY : ACTOR_IS_FIXED;
}

static void charge(struct actor *a, enum actor_charge as, size_t was, size_t is)
{
    struct actors *actors = a->type->actors;
    if (as == ACTOR_IS_TASK) {
        table_weigh_other(jobs_table(actors->jobs), a->tenant, was, is);
        return;
    }
    counter_add(&actors->shown.resident, (uint64_t)(is > 0) - (uint64_t)(was > 0));
    counter_add(&actors->shown.bytes, is - was);
    if (as == ACTOR_IS_COPY)
        return;
    actors->fixed_bytes += is - was;
    a->tenant->actor_bytes += is - was;
    assert(a->tenant->actor_bytes <= actors->fixed_bytes);
}

static void weigh(struct actor *a, enum actor_charge as, size_t now)
{
    if (a->charge == as) {
        charge(a, as, a->weighed, now);
    } else {
        charge(a, (enum actor_charge)a->charge, a->weighed, 0);
        charge(a, as, 0, now);
    }
    a->charge = as & 3;
    a->weighed = (uint32_t)now;
}

void residents_weigh(struct actor *a)
{
    enum actor_charge as = charge_of(a);
    size_t now = bytes_of(a);
    if (a->charge == as && a->weighed == now)
        return;
    weigh(a, as, now);
    if (residents_are_over(a->type->actors, 0))
        jobs_activate(a->type->actors->jobs);
}

void residents_weigh_nothing(struct actor *a)
{
    weigh(a, ACTOR_IS_FIXED, 0);
}

/* --- Room --- */

bool residents_are_over(const struct actors *actors, size_t bytes)
{
    return counter_read(&actors->shown.bytes) + bytes > limits_of(actors)->actors.bytes;
}

bool residents_have_room(const struct actors *actors, const struct tenant *tenant, size_t bytes,
                         struct refusal *why)
{
    const struct jobs_limits *limits = limits_of(actors);
    uint64_t most = limits->actors.bytes, fixed = actors->fixed_bytes + bytes;
    if (fixed <= most && room_is_shared(actors->jobs, tenant->actor_bytes + bytes, most - fixed))
        return true;
    why->error = ERGON_E_BUSY;
    if (fixed > most) {
        snprintf(why->text, sizeof why->text,
                 "actors that cannot leave memory now, since they are active, stopped, stepped or "
                 "not durable, take %" PRIu64 " of at most %" PRIu64
                 " bytes (actors.bytes); try again later",
                 actors->fixed_bytes, most);
        return false;
    }
    snprintf(why->text, sizeof why->text,
             "actors of tenant \"%.*s\" that cannot leave memory now take %" PRIu64
             " bytes, which is its share of actors.bytes (tasks.tenant_share: %" PRIu32
             " %%); try again later",
             (int)utf8_cut(tenant->name, 64).len, (const char *)tenant->name.at,
             tenant->actor_bytes, limits->tenant_share);
    return false;
}

/* --- Idle actors --- */

ao_time residents_go_at(const struct actor *a)
{
    return clock_after(a->since, a->type->policy.idle);
}

void residents_await(struct actor_type *type)
{
    if (ao_current() == &type->timer)
        return;
    ao_deactivate(&type->timer);
    if (type->first)
        ao_sleep_until(&type->timer, residents_go_at(type->first));
}

void residents_add_idle(struct actor *a)
{
    struct actor_type *type = a->type;
    a->idle = true;
    a->since = table_now(jobs_table(type->actors->jobs));
    a->prev = type->last;
    a->next = NULL;
    *(type->last ? &type->last->next : &type->first) = a;
    type->last = a;
    if (type->first == a)
        residents_await(type);
}

void residents_remove_idle(struct actor *a)
{
    struct actor_type *type = a->type;
    if (!a->idle)
        return;
    bool first = type->first == a;
    a->idle = false;
    *(a->prev ? &a->prev->next : &type->first) = a->next;
    *(a->next ? &a->next->prev : &type->last) = a->prev;
    if (first)
        residents_await(type);
}

struct actor *residents_oldest_copy(const struct actors *actors)
{
    struct actor *oldest = NULL;
    for (uint32_t i = 0; i < actors->type_count; i++) {
        struct actor *first = actors->types[i]->first;
        if (first && actor_is_durable(first) && (!oldest || first->since < oldest->since))
            oldest = first;
    }
    return oldest;
}
