/* Ids are counted up, so they are their own hash: neighbours in time are neighbours here. */
#include <stdlib.h>

#include "server/ledger/keys.h"
#include "server/ledger/slots.h"

enum { AHEAD = 8 /* splits; less than SLOTS_FIRST */ };

int id_table_init(struct id_table *t)
{
    *t = (struct id_table){.buckets = slots_new(), .size = SLOTS_FIRST};
    return t->buckets ? 0 : -1;
}

void id_table_fini(struct id_table *t)
{
    free(t->buckets);
}

struct entry *id_find(const struct id_table *t, uint64_t id)
{
    struct entry *e = t->buckets[slots_at(id, t->size)];
    while (e && e->id != id)
        e = e->id_next;
    return e;
}

static void put(struct id_table *t, struct entry *e)
{
    struct entry **bucket = &t->buckets[slots_at(e->id, t->size)];
    e->id_next = *bucket;
    *bucket = e;
}

/* The chain that is split some adds from now: it was made long ago, and is fetched meanwhile. */
static const void *chain_ahead(const struct id_table *t)
{
    const struct entry *e = t->buckets[slots_split(t->size + AHEAD)];
    return e ? &e->id_next : NULL;
}

static void grow(struct id_table *t)
{
    struct entry **buckets = slots_grow(t->buckets, t->size);
    if (!buckets)
        return;
    struct entry **split = &buckets[slots_split(t->size)];
    struct entry *e = *split, *next;
    *split = NULL;
    t->buckets = buckets;
    t->size++;
    for (; e; e = next) {
        next = e->id_next;
        put(t, e);
    }
    __builtin_prefetch(chain_ahead(t));
}

void id_add(struct id_table *t, struct entry *e)
{
    if (t->count >= t->size)
        grow(t);
    put(t, e);
    t->count++;
}

void id_remove(struct id_table *t, struct entry *e)
{
    struct entry **at = &t->buckets[slots_at(e->id, t->size)];
    while (*at && *at != e)
        at = &(*at)->id_next;
    if (!*at)
        return;
    *at = e->id_next;
    e->id_next = NULL;
    t->count--;
}
