/* How many connections each address has.  Thread: the acceptor's. */
#ifndef ERGON_NET_ADDRESS_TABLE_H
#define ERGON_NET_ADDRESS_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { ADDRESS_BUCKETS = 1024 };

struct address_count {
    struct address_count *next;
    uint64_t key;
    uint32_t open;
};

struct address_table {
    uint64_t seed; /* so that nobody can choose addresses that fall together */
    struct address_count *buckets[ADDRESS_BUCKETS];
};

/* The entry of a key, made when it is not there (open 0).  NULL without memory. */
struct address_count *address_entry(struct address_table *t, uint64_t key);
/* Counts down, and frees the entry at 0. */
void address_drop(struct address_table *t, struct address_count *entry);
void address_table_fini(struct address_table *t);

#endif
