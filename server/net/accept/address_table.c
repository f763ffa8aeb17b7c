#include "server/net/accept/address_table.h"

#include <stdlib.h>

#include "base/siphash.h"
#include "base/span.h"

static struct address_count *count_of(struct hash_link *link)
{
    return (struct address_count *)link; /* its first field */
}

void address_table_init(struct address_table *t)
{
    hash_table_init(&t->counts);
}

void address_table_fini(struct address_table *t)
{
    for (struct hash_link *l; (l = hash_pop(&t->counts)) != NULL;)
        free(count_of(l));
    hash_table_fini(&t->counts);
}

struct address_count *address_entry(struct address_table *t, uint64_t key)
{
    uint64_t hash = siphash(t->seed, span_of(&key, sizeof key));

    for (struct hash_link *l = hash_first(&t->counts, hash); l != NULL; l = hash_next(l))
        if (count_of(l)->key == key)
            return count_of(l);
    struct address_count *e = malloc(sizeof *e);
    if (e == NULL)
        return NULL;
    *e = (struct address_count){.link.hash = hash, .key = key};
    hash_add(&t->counts, &e->link);
    return e;
}

void address_drop(struct address_table *t, struct address_count *entry)
{
    if (entry->open > 0 && --entry->open > 0)
        return;
    hash_remove(&t->counts, &entry->link);
    free(entry);
}
