#include "server/net/connection/origins.h"

#include <assert.h>
#include <stdlib.h>

#include <ergon/ao.h>

#include "base/siphash.h"
#include "base/span.h"

static bool is_larger(const struct pairing_node *a, const struct pairing_node *b)
{
    const struct origin *x = ao_of(a, const struct origin, node);
    const struct origin *y = ao_of(b, const struct origin, node);

    return x->count != y->count ? x->count > y->count : x->order < y->order;
}

void origins_init(struct origins *c, const uint64_t seed[2])
{
    *c = (struct origins){.seed = {seed[0], seed[1]}};
    hash_table_init(&c->by_key);
    pairing_init(&c->by_count, is_larger);
}

void origins_fini(struct origins *c)
{
    for (struct hash_link *l; (l = hash_pop(&c->by_key)) != NULL;)
        free(l); /* the first field */
    hash_table_fini(&c->by_key);
}

static uint64_t hash_of(const struct origins *c, uint64_t key)
{
    return siphash(c->seed, span_of(&key, sizeof key));
}

struct origin *origins_find(const struct origins *c, uint64_t key)
{
    struct hash_link *l = hash_first(&c->by_key, hash_of(c, key));

    while (l != NULL && ((struct origin *)l)->key != key)
        l = hash_next(l);
    return (struct origin *)l;
}

static void set_count(struct origins *c, struct origin *origin, uint32_t count)
{
    if (count > origin->count && c->by_count.root == &origin->node) {
        origin->count = count; /* what is first stays first */
        return;
    }
    pairing_remove(&c->by_count, &origin->node);
    origin->count = count;
    pairing_add(&c->by_count, &origin->node);
}

struct origin *origins_join(struct origins *c, uint64_t key)
{
    struct origin *origin = origins_find(c, key);

    if (origin != NULL) {
        set_count(c, origin, origin->count + 1);
        return origin;
    }
    origin = malloc(sizeof *origin);
    if (origin == NULL)
        return NULL;
    *origin =
        (struct origin){.link.hash = hash_of(c, key), .key = key, .order = c->made++, .count = 1};
    TAILQ_INIT(&origin->members);
    hash_add(&c->by_key, &origin->link);
    pairing_add(&c->by_count, &origin->node);
    return origin;
}

void origins_leave(struct origins *c, struct origin *origin)
{
    assert(origin->count > 0);
    if (origin->count > 1) {
        set_count(c, origin, origin->count - 1);
        return;
    }
    assert(TAILQ_EMPTY(&origin->members)); /* each member is in its origin's count */
    pairing_remove(&c->by_count, &origin->node);
    hash_remove(&c->by_key, &origin->link);
    free(origin);
}

struct origin *origins_largest(const struct origins *c)
{
    return c->by_count.root == NULL ? NULL : ao_of(c->by_count.root, struct origin, node);
}
