#include "server/jobs/actors/actor_types.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "proto/reader.h"
#include "server/jobs/accessors.h"
#include "server/jobs/actors/commits.h"
#include "server/jobs/actors/counts.h"
#include "server/jobs/actors/leftovers.h"
#include "server/jobs/actors/residents.h"
#include "server/jobs/jobs.h"
#include "server/jobs/persist/actor_rows.h"
#include "server/jobs/persist/codec.h"
#include "server/jobs/persist/journal.h"
#include "server/store/chunk.h"
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

_Static_assert((int)ACTOR_DURABLE_NONE == DURABLE_NONE && (int)ACTOR_DURABLE_FSYNC == DURABLE_FSYNC,
               "levels of types are levels of jobs");

/* --- Rows --- */

/* All that hosts have offered, each perhaps a part.  Returns how many. */
static uint32_t methods_of(const struct actor_type *type, struct method **methods)
{
    const struct registry *r = jobs_options(type->actors->jobs)->registry;
    uint32_t count = 0;
    for (uint32_t i = 0; i < registry_count(r) && count < ACTOR_METHODS_MAX; i++) {
        struct method *m = registry_at(r, i);
        if (m && method_actor(m) && span_equal(actor_type_of_method(m->name), type->name))
            methods[count++] = m;
    }
    return count;
}

/* Without memory the row stays as it was: after a restart the type is as it was offered before. */
static void pack_type(struct actor_type *type)
{
    struct pack p;
    struct method **methods = calloc(ACTOR_METHODS_MAX, sizeof *methods);
    struct actor_offer offer = {.type = type->name, .methods = methods};
    if (!methods)
        return;
    offer.count = methods_of(type, methods);
    pack_init(&p);
    type_row_pack(&p, &type->policy, &offer);
    free(methods);
    struct span now = pack_bytes(&p);
    if (now.len > 0 && !(type->row && span_equal(blob_bytes(type->row), now))) {
        blob_unref(type->row);
        type->row = blob_copy(now);
        type->unsaved = type->row != NULL;
        if (type->unsaved && type->actors->started)
            actor_types_save(type->actors);
    }
    pack_fini(&p);
}

static bool keeps(const struct actors *actors)
{
    const struct store *store = jobs_store(actors->jobs);
    return store && store_keeps(store, STORE_KEEPS_ACTORS);
}

static void row_back(struct jobs *jobs, struct store_op *write)
{
    struct actor_type *type = write->owner;
    journal_notice(jobs, write);
    blob_unref((struct blob *)(uintptr_t)write->tag);
    type->unsaved |= write->error != STORE_OK;
}

static void save(struct actor_type *type)
{
    struct jobs *jobs = type->actors->jobs;
    struct store_op *write = codec_row_new(jobs, STORE_ROW_PUT, &store_actor_types, 0, row_back);
    if (!write) {
        journal_try_later(jobs);
        return;
    }
    write->owner = type;
    write->tag = (uintptr_t)blob_ref(type->row);
    *(struct store_actor_type *)write->row =
        (struct store_actor_type){.type = type->name, .policy = blob_bytes(type->row)};
    type->unsaved = false;
    store_push(jobs_store(jobs), write);
}

bool actor_types_save(struct actors *actors)
{
    bool any = false;
    actors->started = true;
    for (uint32_t i = 0; i < actors->type_count && keeps(actors); i++)
        if (actors->types[i]->unsaved) {
            save(actors->types[i]);
            any = true;
        }
    return any;
}

/* Its methods are in the registry from now on, as a worker's that is away.  Returns how many. */
static uint32_t read_methods(struct actors *actors, struct span type, struct span raw,
                             struct method **methods)
{
    struct registry *registry = jobs_options(actors->jobs)->registry;
    struct reader r = reader_of(raw);
    char name[ACTOR_METHOD_MAX];
    uint32_t pairs = 0, count = 0;
    struct span one;
    uint64_t is;
    if (raw.len > 0)
        read_map(&r, &pairs);
    for (; pairs > 0 && read_text(&r, &one) && read_uint(&r, &is); pairs--) {
        int len = snprintf(name, sizeof name, "%.*s.%.*s", (int)type.len, (const char *)type.at,
                           (int)one.len, (const char *)one.at);
        if (registry_intern(registry, span_of(name, (size_t)len), &methods[count]) != ERGON_OK)
            continue; /* the registry is full */
        method_set_actor(methods[count++], (unsigned)is);
    }
    return count;
}

bool actor_types_recover(struct actors *actors, const struct store_actor_type *row,
                         const char **fault)
{
    struct actor_offer offer = {.type = row->type};
    struct span raw;
    if ((*fault = row_check_actor_type(row)) || (*fault = type_row_read(row, &offer.policy, &raw)))
        return false;
    if (actor_type_find(actors, row->type))
        return true; /* of a module, which has offered it */
    struct method **methods = calloc(ACTOR_METHODS_MAX, sizeof *methods);
    if (!methods)
        return false;
    offer.methods = methods;
    offer.count = read_methods(actors, row->type, raw, methods);
    bool good = actor_type_offered(actors, &offer) == ERGON_OK;
    if (good)
        actor_type_find(actors, row->type)->unsaved = false;
    free(methods);
    return good;
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
    type->shown_next = atomic_load_explicit(&actors->shown_types, memory_order_relaxed);
    atomic_store_explicit(&actors->shown_types, type, memory_order_release);
    return type;
}

/* How durable actors are of whose type nothing is said. */
static uint8_t usual_level(const struct actors *actors)
{
    return keeps(actors) ? DURABLE_FSYNC : DURABLE_NONE;
}

/* Those that were in memory alone until now are written; those that will be from now on cannot
 * leave it. */
static void level_changed(struct actor_type *type)
{
    const struct hash_table *all = &type->actors->by_name;
    for (size_t at = 0; at < all->size; at++)
        for (struct hash_link *link = all->buckets[at]; link; link = link->next) {
            struct actor *a = (struct actor *)link;
            if (a->type != type)
                continue;
            if (actor_is_durable(a) && actor_is_there(a))
                commits_save(a);
            a->has_row &= actor_is_durable(a) || type->unsaid; /* else leftovers.h removes it */
            residents_weigh(a);
        }
}

static void say_changes(const struct actor_type *type, const struct actor_policy *was)
{
    char text[FEED_TEXT_MAX], name[ACTOR_METHOD_MAX];
    struct job_table *table = jobs_table(type->actors->jobs);
    if (!policy_changes(was, &type->policy, text, sizeof text))
        return;
    snprintf(name, sizeof name, "%.*s", (int)type->name.len, (const char *)type->name.at);
    log_info("a type of actors has changed", LOG_STR("type", name), LOG_STR("what", text));
    feed_add_actor(&table->feed, NULL, type->name, span_text(text), FEED_ACTOR_TYPE_CHANGED,
                   table_wall(table));
}

/* A database that is away says later what it keeps. */
static bool may_keep(const struct actors *actors)
{
    const struct store *store = jobs_store(actors->jobs);
    return keeps(actors) || (store && store_loads_in_chunks(store) && !actors->started);
}

static void set_policy(struct actor_type *type, const struct actor_policy *policy)
{
    const uint8_t was = type->policy.durable;
    type->policy = *policy;
    if (type->unsaid)
        type->policy.durable = usual_level(type->actors);
    if ((was == DURABLE_NONE) != (type->policy.durable == DURABLE_NONE))
        level_changed(type);
}

void actor_type_settle(struct actor_type *type)
{
    const struct actor_policy policy = type->policy;
    if (!type->unsaid || policy.durable == usual_level(type->actors))
        return;
    set_policy(type, &policy);
    if (type->row)
        pack_type(type);
}

void actor_types_start(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->type_count; i++)
        actor_type_settle(actors->types[i]);
}

enum ergon_error actor_type_offered(struct actors *actors, const struct actor_offer *offer)
{
    struct actor_type *type = actor_type_find(actors, offer->type);
    uint8_t level = offer->policy.durable;
    if (level != DURABLE_NONE && level != ACTOR_DURABLE_UNSAID && !may_keep(actors))
        return ERGON_E_STORE;
    bool is_known = type != NULL;
    if (!type && !(type = make(actors, offer->type)))
        return ERGON_E_MEMORY;
    const struct actor_policy was = type->policy;
    type->unsaid = level == ACTOR_DURABLE_UNSAID;
    set_policy(type, &offer->policy);
    if (is_known)
        say_changes(type, &was);
    if (!is_known || was.durable != DURABLE_NONE)
        leftovers_remove(type);
    type->of_messages = (struct job_policy)JOB_POLICY_UNSAID;
    type->of_messages.backoff = offer->policy.backoff;
    type->of_messages.backoff_max = offer->policy.backoff_max;
    for (uint32_t i = 0; i < offer->count; i++)
        if (method_actor(offer->methods[i]) & ACTOR_STEP)
            type->step = offer->methods[i];
        else
            type->some = offer->methods[i];
    residents_await(type);
    bool has_row = type->policy.durable != DURABLE_NONE || type->unsaid || type->row;
    if (!actors->of_modules && has_row)
        pack_type(type);
    if (actors->started && type->policy.durable != DURABLE_NONE)
        counts_start(actors);
    return ERGON_OK;
}

static void refuse(const struct actor_offer *offer, enum ergon_error wrong, char *error,
                   size_t size)
{
    if (wrong == ERGON_E_STORE)
        snprintf(error, size, "the actors \"%.*s\" of a module: %s", (int)offer->type.len,
                 (const char *)offer->type.at, ACTOR_NO_STORE);
}

bool actor_types_init(struct actors *actors, char *error, size_t size)
{
    enum ergon_error wrong = ERGON_OK;
    const struct actor_offer *offer;
    const struct registry *r = jobs_options(actors->jobs)->registry;
    actors->of_modules = true;
    for (uint32_t i = 0; (offer = registry_actor(r, i)); i++)
        if (wrong == ERGON_OK && (wrong = actor_type_offered(actors, offer)) != ERGON_OK)
            refuse(offer, wrong, error, size);
    actors->of_modules = false;
    return wrong == ERGON_OK;
}

void actor_types_fini(struct actors *actors)
{
    for (uint32_t i = 0; i < actors->type_count; i++) {
        ao_deactivate(&actors->types[i]->timer);
        ao_fini(&actors->types[i]->timer);
        blob_unref(actors->types[i]->row);
        store_chunk_free(actors->types[i]->leftovers);
        free(actors->types[i]);
    }
    free(actors->types);
}
