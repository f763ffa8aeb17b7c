#include "server/net/connection/crowds.h"

#include <stdlib.h>

#include <ergon/ao.h>

#include "base/siphash.h"
#include "base/span.h"

static bool is_larger(const struct pairing_node *a, const struct pairing_node *b)
{
    const struct crowd *x = ao_of(a, const struct crowd, node);
    const struct crowd *y = ao_of(b, const struct crowd, node);

    return x->count != y->count ? x->count > y->count : x->order < y->order;
}

void crowds_init(struct crowds *c, const uint64_t seed[2])
{
    *c = (struct crowds){.seed = {seed[0], seed[1]}};
    hash_table_init(&c->by_key);
    pairing_init(&c->by_count, is_larger);
}

void crowds_fini(struct crowds *c)
{
    for (struct hash_link *l; (l = hash_pop(&c->by_key)) != NULL;)
        free(l); /* the first field */
    hash_table_fini(&c->by_key);
}

static uint64_t hash_of(const struct crowds *c, uint64_t key)
{
    return siphash(c->seed, span_of(&key, sizeof key));
}

struct crowd *crowds_find(const struct crowds *c, uint64_t key)
{
    struct hash_link *l = hash_first(&c->by_key, hash_of(c, key));

    while (l != NULL && ((struct crowd *)l)->key != key)
        l = hash_next(l);
    return (struct crowd *)l;
}

static void set_count(struct crowds *c, struct crowd *crowd, uint32_t count)
{
    if (count > crowd->count && c->by_count.root == &crowd->node) {
        crowd->count = count; /* what is first stays first */
        return;
    }
    pairing_remove(&c->by_count, &crowd->node);
    crowd->count = count;
    pairing_add(&c->by_count, &crowd->node);
}

struct crowd *crowds_join(struct crowds *c, uint64_t key)
{
    struct crowd *crowd = crowds_find(c, key);

    if (crowd != NULL) {
        set_count(c, crowd, crowd->count + 1);
        return crowd;
    }
    crowd = malloc(sizeof *crowd);
    if (crowd == NULL)
        return NULL;
    *crowd =
        (struct crowd){.link.hash = hash_of(c, key), .key = key, .order = c->made++, .count = 1};
    TAILQ_INIT(&crowd->members);
    hash_add(&c->by_key, &crowd->link);
    pairing_add(&c->by_count, &crowd->node);
    return crowd;
}

void crowds_leave(struct crowds *c, struct crowd *crowd)
{
    if (crowd->count > 1) {
        set_count(c, crowd, crowd->count - 1);
        return;
    }
    pairing_remove(&c->by_count, &crowd->node);
    hash_remove(&c->by_key, &crowd->link);
    free(crowd);
}

struct crowd *crowds_largest(const struct crowds *c)
{
    return c->by_count.root == NULL ? NULL : ao_of(c->by_count.root, struct crowd, node);
}
