/* The store of a jobs_world.  Two files have these functions, and those of server/store/store.h
 * that the jobs call, and a test links one of them: memory_store.c (rows in memory) or disk_store.c
 * (SQLite on the disk of fault_vfs.h). */
#ifndef ERGON_TESTS_WORLD_STORE_H
#define ERGON_TESTS_WORLD_STORE_H

#include "server/store/store.h"

struct jobs;

/* Operations on their way, linked by their items: a queue for either file. */
static inline struct store_op *store_ops_pop(struct store_op **first)
{
    struct store_op *op = *first;
    *first = op->item.next ? ao_of(op->item.next, struct store_op, item) : NULL;
    return op;
}

static inline void store_ops_push(struct store_op **first, struct store_op **last,
                                  struct store_op *op)
{
    op->item.next = NULL;
    if (*first)
        (*last)->item.next = &op->item;
    else
        *first = op;
    *last = op;
}

/* `wall` is the clock of its commits, Unix ns.  A commit takes a millisecond. */
struct store *world_store_new(uint64_t (*wall)(void *arg), void *arg);
/* The process is gone: its jobs are about to go, and get the memory of their operations back. After
 * a stop in order a no-op. */
void world_store_crash(struct store *s, struct jobs *client);
void world_store_free(struct store *s); /* NULL is fine */

#endif
