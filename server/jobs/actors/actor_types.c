#include "server/jobs/actors/actor_types.h"

#include <stdlib.h>

#include "server/jobs/accessors.h"
#include "server/jobs/jobs.h"
#include "server/tasks/registry.h"

/* Where a type of this name is, or has to be. */
static uint32_t place_of(const struct actors *actors, struct span name)
{
    uint32_t from = 0, to = actors->type_count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (span_compare(actors->types[middle]->name, name) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

struct actor_type *actor_type_find(const struct actors *actors, struct span name)
{
    uint32_t at = place_of(actors, name);
    bool found = at < actors->type_count && span_equal(actors->types[at]->name, name);
    return found ? actors->types[at] : NULL;
}

/* --- Offers --- */

static struct actor_type *new_type(struct actors *actors, struct span name)
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
    return type;
}

static struct actor_type *make(struct actors *actors, struct span name)
{
    uint32_t at = place_of(actors, name), count = actors->type_count;
    struct actor_type **types = realloc(actors->types, (count + 1) * sizeof *types);
    if (!types)
        return NULL;
    actors->types = types;
    struct actor_type *type = new_type(actors, name);
    if (!type)
        return NULL;
    memmove(&types[at + 1], &types[at], (count - at) * sizeof *types);
    types[at] = type;
    actors->type_count++;
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
    for (uint32_t i = 0; i < actors->type_count; i++) {
        ao_deactivate(&actors->types[i]->timer);
        ao_fini(&actors->types[i]->timer);
        free(actors->types[i]);
    }
    free(actors->types);
}
