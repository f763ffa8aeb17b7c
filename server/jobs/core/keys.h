/* Jobs by name: the keys of tasks, and those of runs that are shared.  A name counts within a
 * tenant, the second kind within a method (the scope) too.  Hashed with a secret seed, since names
 * come from strangers.  Adding never fails: without memory a table only gets slower.  Ledger's
 * thread. */
#ifndef ERGON_JOBS_KEYS_H
#define ERGON_JOBS_KEYS_H

#include "server/jobs/core/job.h"

struct key_table {
    struct key_link **buckets; /* `size`; one more whenever there are as many links */
    uint32_t size, count;
    uint64_t seed[2];
};

int key_table_init(struct key_table *t, const uint64_t seed[2]); /* 0, or -1 without memory */
void key_table_fini(struct key_table *t);
struct job *key_find(const struct key_table *t, struct span tenant, struct span scope,
                     struct span name);
/* The link's job and spans are set; it is not in the table, nor is another of its name. */
void key_add(struct key_table *t, struct key_link *link);
void key_remove(struct key_table *t, struct key_link *link); /* of one not inside: a no-op */

/* Jobs by id. */
struct id_table {
    struct job **buckets; /* likewise */
    uint32_t size, count;
};

int id_table_init(struct id_table *t);
void id_table_fini(struct id_table *t);
struct job *id_find(const struct id_table *t, uint64_t id);
void id_add(struct id_table *t, struct job *job);    /* whose id is not in it */
void id_remove(struct id_table *t, struct job *job); /* of one not inside: a no-op */

#endif
