/* Jobs by name: by their keys, and by the names of runs that are shared.  A name counts within a
 * tenant, the second kind within a method (the scope), too, and that of a message within its actor
 * (`of`).  Names are hashed with a secret seed, since they come from strangers.
 *
 * Thread: the jobs'.  Nothing here fails: without memory a table only gets slower. */
#ifndef ERGON_JOBS_KEYS_H
#define ERGON_JOBS_KEYS_H

#include "server/jobs/core/job.h"

struct key_table {
    struct hash_table names;
    uint64_t seed[2];
};

void key_table_init(struct key_table *t, const uint64_t seed[2]);
void key_table_fini(struct key_table *t);
/* NULL: no job has this name. */
struct job *key_find(const struct key_table *t, struct span tenant, struct span scope,
                     struct span name, const void *of);
/* The link's job and spans are set; it is in no table, and no other of its name is in this one. */
void key_add(struct key_table *t, struct key_link *link);
void key_remove(struct key_table *t, struct key_link *link); /* of one not inside: a no-op */

#endif
