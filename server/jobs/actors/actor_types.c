#include "server/jobs/actors/actor_types.h"

#include <stdlib.h>

#include "base/siphash.h"
#include "server/jobs/accessors.h"
#include "server/jobs/jobs.h"
#include "server/tasks/registry.h"

static uint64_t hash_of(const struct actors *actors, struct span name)
{
    return siphash(jobs_table(actors->jobs)->seed, name);
}

struct actor_type *actor_type_find(const struct actors *actors, struct span name)
{
    struct hash_link *link = hash_first(&actors->types, hash_of(actors, name));
    while (link && !span_equal(((struct actor_type *)link)->name, name))
        link = hash_next(link);
    return (struct actor_type *)link;
}

/* --- Offers --- */

static struct actor_type *make(struct actors *actors, struct span name)
{
    struct actor_type *type = calloc(1, sizeof *type + name.len + 1);
    if (!type)
        return NULL;
    uint8_t *at = memcpy(type + 1, name.at, name.len);
    at[name.len] = '.';
    type->name = span_of(at, name.len);
    type->methods = span_of(at, name.len + 1);
    type->actors = actors;
    ao_init(&type->timer, &actors_idle_class, jobs_activator(actors->jobs));
    *(actors->last_type ? &actors->last_type->next : &actors->first_type) = type;
    actors->last_type = type;
    type->by_name.hash = hash_of(actors, name);
    hash_add(&actors->types, &type->by_name);
    return type;
}

bool actor_type_offered(struct actors *actors, const struct actor_offer *offer)
{
    struct actor_type *type = actor_type_find(actors, offer->type);
    if (!type && !(type = make(actors, offer->type)))
        return false;
    type->policy = offer->policy;
    type->of_messages = (struct job_policy)JOB_POLICY_UNSAID;
    type->of_messages.backoff = offer->policy.backoff;
    type->of_messages.backoff_max = offer->policy.backoff_max;
    for (uint32_t i = 0; i < offer->count; i++)
        if (method_actor(offer->methods[i]) & ACTOR_STEP)
            type->step = offer->methods[i];
    actors_await(type);
    return true;
}

bool actor_types_init(struct actors *actors)
{
    const struct actor_offer *offer;
    const struct registry *r = jobs_options(actors->jobs)->registry;
    for (uint32_t i = 0; (offer = registry_actor(r, i)); i++)
        if (!actor_type_offered(actors, offer))
            return false;
    return true;
}

void actor_types_fini(struct actors *actors)
{
    struct actor_type *next;
    for (struct actor_type *type = actors->first_type; type; type = next) {
        next = type->next;
        ao_deactivate(&type->timer);
        ao_fini(&type->timer);
        free(type);
    }
    hash_table_fini(&actors->types);
}
