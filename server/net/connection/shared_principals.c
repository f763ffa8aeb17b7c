#include "server/net/connection/shared_principals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

struct shared {
    struct hash_link link;             /* first member */
    const struct principal *principal; /* a reference, beside those of its holders */
    const void *whose;
    uint16_t generation;
    bool own;
    uint32_t holders;
};

static struct shared *shared_of(struct hash_link *link)
{
    return (struct shared *)link;
}

static uint64_t hash_of(const struct shared_principals *s, const char *name)
{
    return siphash(s->seed, span_text(name));
}

/* NULL: it is not shared. */
static struct shared *entry_of(const struct shared_principals *s, const struct principal *p)
{
    if (principal_how(p) == PRINCIPAL_TOKEN)
        return NULL;
    struct hash_link *l = hash_first(&s->by_name, hash_of(s, principal_plain_name(p)));
    while (l != NULL && shared_of(l)->principal != p)
        l = hash_next(l);
    return shared_of(l);
}

static bool fits(const struct shared *e, const struct shared_key *key)
{
    return e->whose == key->whose && e->generation == key->generation && e->own == key->own &&
           principal_how(e->principal) == key->how &&
           strcmp(principal_plain_name(e->principal), key->name) == 0;
}

void shared_principals_init(struct shared_principals *s, const uint64_t seed[2])
{
    hash_table_init(&s->by_name);
    memcpy(s->seed, seed, sizeof s->seed);
}

void shared_principals_fini(struct shared_principals *s)
{
    assert(s->by_name.count == 0);
    hash_table_fini(&s->by_name);
}

const struct principal *shared_principals_find(struct shared_principals *s,
                                               const struct shared_key *key)
{
    struct hash_link *l = hash_first(&s->by_name, hash_of(s, key->name));

    while (l != NULL && !fits(shared_of(l), key))
        l = hash_next(l);
    if (l == NULL)
        return NULL;
    shared_of(l)->holders++;
    return principal_ref(shared_of(l)->principal);
}

bool shared_principals_add(struct shared_principals *s, const struct shared_key *key,
                           const struct principal *p)
{
    struct shared *e = malloc(sizeof *e);

    if (e == NULL)
        return false;
    *e = (struct shared){.link.hash = hash_of(s, principal_plain_name(p)),
                         .principal = principal_ref(p),
                         .whose = key->whose,
                         .generation = key->generation,
                         .own = key->own,
                         .holders = 1};
    hash_add(&s->by_name, &e->link);
    return true;
}

const struct principal *shared_principals_hold(struct shared_principals *s,
                                               const struct principal *p)
{
    struct shared *e = p == NULL ? NULL : entry_of(s, p);

    if (e != NULL)
        e->holders++;
    return p == NULL ? NULL : principal_ref(p);
}

void shared_principals_release(struct shared_principals *s, const struct principal *p)
{
    struct shared *e = p == NULL ? NULL : entry_of(s, p);

    assert(e == NULL || e->holders > 0);
    if (e != NULL && --e->holders == 0) {
        hash_remove(&s->by_name, &e->link);
        principal_unref(e->principal);
        free(e);
    }
    principal_unref(p);
}
