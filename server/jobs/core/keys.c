#include "server/jobs/core/keys.h"

#include <stdlib.h>

#include "base/siphash.h"
#include "server/jobs/core/slots.h"

int key_table_init(struct key_table *t, const uint64_t seed[2])
{
    *t =
        (struct key_table){.buckets = slots_new(), .size = SLOTS_FIRST, .seed = {seed[0], seed[1]}};
    return t->buckets ? 0 : -1;
}

void key_table_fini(struct key_table *t)
{
    free(t->buckets);
}

/* Each part is hashed with the hash of those before it, so that where one ends counts. */
static uint64_t hash_of(const struct key_table *t, struct span tenant, struct span scope,
                        struct span name)
{
    uint64_t seed[2] = {t->seed[0], t->seed[1]};
    seed[0] ^= siphash(seed, tenant);
    if (scope.len > 0)
        seed[1] ^= siphash(seed, scope);
    return siphash(seed, name);
}

static bool is(const struct key_link *link, uint64_t hash, struct span tenant, struct span scope,
               struct span name)
{
    return link->hash == hash && span_equal(link->name, name) && span_equal(link->scope, scope) &&
           span_equal(link->tenant, tenant);
}

struct job *key_find(const struct key_table *t, struct span tenant, struct span scope,
                     struct span name)
{
    uint64_t hash = hash_of(t, tenant, scope, name);
    struct key_link *link = t->buckets[slots_at(hash, t->size)];
    while (link && !is(link, hash, tenant, scope, name))
        link = link->next;
    return link ? link->entry : NULL;
}

static void put(struct key_table *t, struct key_link *link)
{
    struct key_link **bucket = &t->buckets[slots_at(link->hash, t->size)];
    link->next = *bucket;
    *bucket = link;
}

/* One bucket more; without memory the chains grow longer. */
static void grow(struct key_table *t)
{
    struct key_link **buckets = slots_grow(t->buckets, t->size);
    if (!buckets)
        return;
    struct key_link **split = &buckets[slots_split(t->size)];
    struct key_link *link = *split, *next;
    *split = NULL;
    t->buckets = buckets;
    t->size++;
    for (; link; link = next) {
        next = link->next;
        put(t, link);
    }
}

void key_add(struct key_table *t, struct key_link *link)
{
    if (t->count >= t->size)
        grow(t);
    link->hash = hash_of(t, link->tenant, link->scope, link->name);
    put(t, link);
    t->count++;
}

void key_remove(struct key_table *t, struct key_link *link)
{
    struct key_link **at = &t->buckets[slots_at(link->hash, t->size)];
    while (*at && *at != link)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = link->next;
    link->next = NULL;
    t->count--;
}
