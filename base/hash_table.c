#include "base/hash_table.h"

#include <stdlib.h>

enum {
    FIRST_ROOM = 16, /* buckets; a power of two */
    AHEAD = 8        /* splits */
};

static void set_size(struct hash_table *t, uint32_t size)
{
    t->size = size;
    t->mask = UINT32_MAX >> __builtin_clz(size);
}

void hash_table_init(struct hash_table *t)
{
    *t = (struct hash_table){.buckets = &t->only};
    set_size(t, 1);
}

void hash_table_fini(struct hash_table *t)
{
    if (t->buckets != &t->only)
        free(t->buckets);
    hash_table_init(t);
}

void hash_reserve(struct hash_table *t, uint32_t count)
{
    if (t->count > 0 || count <= t->size || count < FIRST_ROOM)
        return;
    size_t room = (size_t)1 << (32 - __builtin_clz(count - 1));
    struct hash_link **buckets = calloc(room, sizeof *buckets);
    if (!buckets)
        return;
    hash_table_fini(t);
    t->buckets = buckets;
    set_size(t, count);
}

/* Room for one bucket more: twice as many are made whenever their number is a power of two.  A
 * large array is moved by its pages, not copied. */
static bool make_room(struct hash_table *t)
{
    if ((t->size & (t->size - 1)) != 0)
        return true;
    size_t room = t->size < FIRST_ROOM ? FIRST_ROOM : 2 * (size_t)t->size;
    bool first = t->buckets == &t->only;
    struct hash_link **buckets = realloc(first ? NULL : t->buckets, room * sizeof *buckets);
    if (!buckets)
        return false;
    if (first)
        buckets[0] = t->only;
    t->buckets = buckets;
    return true;
}

/* The bucket whose chain is split when bucket `size` comes. */
static uint32_t split_by(uint32_t size)
{
    return size ^ (UINT32_C(1) << (31 - __builtin_clz(size)));
}

static void put(struct hash_table *t, struct hash_link *link)
{
    struct hash_link **bucket = hash_bucket(t, link->hash);
    link->next = *bucket;
    *bucket = link;
}

/* The chain that is split some adds from now: it was made long ago, and is fetched meanwhile. */
static void fetch_ahead(const struct hash_table *t)
{
    uint32_t ahead = split_by(t->size + AHEAD);
    if (ahead < t->size)
        __builtin_prefetch(t->buckets[ahead]);
}

static void grow(struct hash_table *t)
{
    if (!make_room(t))
        return;
    uint32_t split = split_by(t->size);
    struct hash_link *link = t->buckets[split], *next;
    t->buckets[split] = t->buckets[t->size] = NULL;
    set_size(t, t->size + 1);
    for (; link; link = next) {
        next = link->next;
        put(t, link);
    }
    fetch_ahead(t);
}

void hash_add(struct hash_table *t, struct hash_link *link)
{
    if (t->count >= t->size)
        grow(t);
    put(t, link);
    t->count++;
}

bool hash_remove(struct hash_table *t, struct hash_link *link)
{
    struct hash_link **at = hash_bucket(t, link->hash);

    while (*at && *at != link)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = link->next;
    link->next = NULL;
    t->count--;
    return true;
}

/* From the last bucket; an empty one goes, for it would be split into nothing. */
struct hash_link *hash_pop(struct hash_table *t)
{
    while (t->size > 1 && !t->buckets[t->size - 1])
        set_size(t, t->size - 1);
    struct hash_link *link = t->buckets[t->size - 1];
    if (link) {
        t->buckets[t->size - 1] = link->next;
        link->next = NULL;
        t->count--;
    }
    return link;
}
