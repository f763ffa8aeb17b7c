#include "server/jobs/core/keys.h"

#include <assert.h>

#include "base/siphash.h"

void key_table_init(struct key_table *t, const uint64_t seed[2])
{
    *t = (struct key_table){.seed = {seed[0], seed[1]}};
    hash_table_init(&t->names);
}

void key_table_fini(struct key_table *t)
{
    hash_table_fini(&t->names);
}

/* Each part is hashed with the hash of those before it, so that where one ends counts. */
static uint64_t hash_of(const struct key_table *t, struct span tenant, struct span scope,
                        struct span name, const void *of)
{
    uint64_t seed[2] = {t->seed[0], t->seed[1] ^ (uint64_t)(uintptr_t)of};
    seed[0] ^= siphash(seed, tenant);
    if (scope.len > 0)
        seed[1] ^= siphash(seed, scope);
    return siphash(seed, name);
}

struct job *key_find(const struct key_table *t, struct span tenant, struct span scope,
                     struct span name, const void *of)
{
    struct hash_link *link = hash_first(&t->names, hash_of(t, tenant, scope, name, of));
    for (; link; link = hash_next(link)) {
        const struct key_link *key = (const struct key_link *)link;
        if (span_equal(key->name, name) && span_equal(key->scope, scope) &&
            span_equal(key->tenant, tenant) && key->of == of)
            return key->job;
    }
    return NULL;
}

void key_add(struct key_table *t, struct key_link *link)
{
    assert(link->name.len > 0 && link->job);
    link->link.hash = hash_of(t, link->tenant, link->scope, link->name, link->of);
    hash_add(&t->names, &link->link);
}

void key_remove(struct key_table *t, struct key_link *link)
{
    if (link->name.len > 0)
        hash_remove(&t->names, &link->link);
}
