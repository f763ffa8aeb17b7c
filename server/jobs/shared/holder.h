/* A connection that may hold permits of semaphores, as the jobs know it: part of an operation that
 * stays with them as long as the connection is there.  Thread: the jobs'. */
#ifndef ERGON_JOBS_SHARED_HOLDER_H
#define ERGON_JOBS_SHARED_HOLDER_H

#include "base/hash_table.h"

enum { HOLD_SECRET = 16 /* bytes, by which a hold is known to who has it */ };

struct hold;
struct jobs;

struct holder {
    struct hash_link by_conn; /* first; the id of the connection is its hash */
    struct hold *first;       /* that it has, or waits for */
};

void holder_enter(struct jobs *jobs, struct holder *holder);
struct holder *holder_find(const struct jobs *jobs, uint64_t conn); /* NULL: it is gone */
/* The connection is lost: what it holds stays for its grace. */
void holder_leave(struct jobs *jobs, struct holder *holder);

#endif
