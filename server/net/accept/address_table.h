/* How many connections each address has.  Thread: the acceptor's. */
#ifndef ERGON_NET_ADDRESS_TABLE_H
#define ERGON_NET_ADDRESS_TABLE_H

#include "base/hash_table.h"

struct address_count { /* the table's */
    struct hash_link link;
    uint64_t key;
    uint32_t open;
};

struct address_table {
    struct hash_table counts;
    uint64_t seed[2]; /* so that nobody can choose addresses that fall together */
};

/* The seed stays as it is. */
void address_table_init(struct address_table *t);
void address_table_fini(struct address_table *t);

/* The entry of a key, made when it is not there (open 0).  NULL without memory. */
struct address_count *address_entry(struct address_table *t, uint64_t key);
/* Counts down, and frees the entry at 0. */
void address_drop(struct address_table *t, struct address_count *entry);

#endif
