/* A hash table of links that stand in what they find.  It grows by one bucket at a time (linear
 * hashing, Litwin 1980): no add ever pays for a whole table that is sorted anew, which with a
 * million links would hold up everything else for tens of milliseconds.
 *
 *     for (struct hash_link *l = hash_first(&t, hash); l; l = hash_next(l))
 *         if (name_of(l) is the one) ...
 *
 * The caller hashes: names of strangers with siphash() and a secret seed; what is counted up is its
 * own hash.  The low bits of a hash choose the bucket.  Nothing here fails: without memory the
 * chains only get longer.  One thread. */
#ifndef ERGON_BASE_HASH_TABLE_H
#define ERGON_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller's memory, from hash_add() to hash_remove(); it does not move meanwhile. */
struct hash_link {
    struct hash_link *next; /* in the bucket */
    uint64_t hash;
};

/* It does not move either, once something was added. */
struct hash_table {
    struct hash_link **buckets; /* `size` of them; &only while there is one */
    uint32_t size;
    uint32_t mask; /* of as many bits as `size` has */
    uint32_t count;
    struct hash_link *only;
};

void hash_table_init(struct hash_table *t);
void hash_table_fini(struct hash_table *t); /* links that are inside are let go */

/* Makes room in an empty table: the next `count` links are added without a split of a chain.  In
 * one that is not empty, and without memory, nothing happens. */
void hash_reserve(struct hash_table *t, uint32_t count);

/* Adds a link whose hash is set and that is in no table. */
void hash_add(struct hash_table *t, struct hash_link *link);

/* False: it is not in this table, which is no error.  Its hash is as it was when it was added. */
bool hash_remove(struct hash_table *t, struct hash_link *link);

/* Takes out one link, whichever; NULL: the table is empty.  To empty a table so takes as long as to
 * fill it. */
struct hash_link *hash_pop(struct hash_table *t);

/* The bucket of this hash. */
static inline struct hash_link **hash_bucket(const struct hash_table *t, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & t->mask;
    return &t->buckets[at < t->size ? at : at & (t->mask >> 1)];
}

static inline struct hash_link *hash_same(struct hash_link *link, uint64_t hash)
{
    while (link && link->hash != hash)
        link = link->next;
    return link;
}

/* The links of this hash, one by one; NULL behind the last. */
static inline struct hash_link *hash_first(const struct hash_table *t, uint64_t hash)
{
    return hash_same(*hash_bucket(t, hash), hash);
}

static inline struct hash_link *hash_next(const struct hash_link *link)
{
    return hash_same(link->next, link->hash);
}

#endif
