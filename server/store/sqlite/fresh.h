/* Actors with turns that are not folded (states.h): the number of the last turn of each, by its
 * name and in the order of names, which is that of the table `actors`.  What a transaction changes
 * here is taken back, or kept, as the transaction is.
 *
 * Thread: the one that has the connection. */
#ifndef ERGON_STORE_FRESH_H
#define ERGON_STORE_FRESH_H

#include "base/cells.h"
#include "base/hash_table.h"
#include "base/treap.h"
#include "server/store/store.h"

struct fresh_actor {
    struct hash_link link;
    struct treap_node place; /* while it has a turn */
    uint64_t seq;            /* of its last turn; 0: it has none any more */
    uint32_t slot;           /* states.c: of its row among those that wait */
    uint32_t type_len, key_len, tenant_len;
    bool gone;   /* the last turn removed it */
    char name[]; /* type, key, tenant */
};

struct fresh_change {
    struct fresh_actor *actor;
    uint64_t before; /* its `seq` */
    bool was_gone;
    bool is_new;
};

struct fresh {
    struct cells cells;
    struct hash_table actors;
    uint64_t seed[2];
    struct treap by_name;
    struct fresh_change *changes; /* of the transaction */
    uint32_t count, room;
};

void fresh_init(struct fresh *f, const uint64_t seed[2]);
void fresh_fini(struct fresh *f); /* also of zeros */

/* Returns a row that has the name alone, which points into the actor. */
struct store_actor fresh_name(const struct fresh_actor *actor);
/* Compares names by type, key and tenant, as span_compare() does. */
int fresh_compare(const struct store_actor *a, const struct store_actor *b);

/* Returns the hash of the actor's name, an argument of the functions below. */
uint64_t fresh_hash(const struct fresh *f, const struct store_actor *row);
/* NULL: it has no turn. */
struct fresh_actor *fresh_find(const struct fresh *f, const struct store_actor *row, uint64_t hash);
/* Its last turn is this one.  NULL without memory: nothing has changed. */
struct fresh_actor *fresh_note(struct fresh *f, const struct store_actor *row, uint64_t hash,
                               const struct store_turn *turn);
/* It has no turn any more; it stays until fresh_keep().  False without memory. */
bool fresh_forget(struct fresh *f, struct fresh_actor *actor);

/* Returns the first actor with a turn that has this name, or a later one; NULL: none. */
struct fresh_actor *fresh_from(const struct fresh *f, const struct store_actor *name);
/* Returns the one behind this one, or the first of all behind NULL; NULL: there is none. */
struct fresh_actor *fresh_next(const struct fresh *f, const struct fresh_actor *actor);

/* Takes back what changed since there were so many `changes`: actors that were new are freed. */
void fresh_undo(struct fresh *f, uint32_t count);
/* The transaction has ended well. */
void fresh_keep(struct fresh *f);

#endif
