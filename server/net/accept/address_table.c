#include "server/net/accept/address_table.h"

#include <stdlib.h>

static struct address_count **bucket(struct address_table *t, uint64_t key)
{
    uint64_t mixed = (key ^ t->seed) * 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u;
    return &t->buckets[(mixed >> 32) % ADDRESS_BUCKETS];
}

struct address_count *address_entry(struct address_table *t, uint64_t key)
{
    struct address_count **at = bucket(t, key);

    for (struct address_count *e = *at; e != NULL; e = e->next)
        if (e->key == key)
            return e;
    struct address_count *e = malloc(sizeof *e);
    if (e == NULL)
        return NULL;
    *e = (struct address_count){.next = *at, .key = key};
    *at = e;
    return e;
}

void address_drop(struct address_table *t, struct address_count *entry)
{
    if (entry->open > 0 && --entry->open > 0)
        return;
    struct address_count **at = bucket(t, entry->key);
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    free(entry);
}

void address_table_fini(struct address_table *t)
{
    for (int i = 0; i < ADDRESS_BUCKETS; i++)
        while (t->buckets[i] != NULL) {
            struct address_count *e = t->buckets[i];
            t->buckets[i] = e->next;
            free(e);
        }
}
