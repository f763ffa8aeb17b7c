/* A sorted set of nodes that are members of what it sorts: a binary search tree whose nodes have a
 * random weight each, and none a heavier one below it (treap: Seidel, Aragon 1996).  It is about as
 * deep as a balanced tree whatever the order in which nodes come, as long as nobody who chooses
 * keys knows the weights.  Adding, removing and finding are O(log n); no memory is taken, so
 * nothing here fails, and nothing recurses.  One thread. */
#ifndef ERGON_BASE_TREAP_H
#define ERGON_BASE_TREAP_H

#include <stdbool.h>
#include <stdint.h>

/* The caller's memory, from treap_add() to treap_remove(); it does not move meanwhile. */
struct treap_node {
    struct treap_node *left, *right;
    uint64_t weight; /* set by the caller before it is added: random */
};

struct treap {
    struct treap_node *root; /* NULL: empty */
    uint32_t count;
    /* Less than 0: `key` goes before that of the node; 0: it is the same.  A total order, in which
     * no two nodes are the same. */
    int (*compare)(const void *key, const struct treap_node *node);
};

/* Both take the node's own key. */
void treap_add(struct treap *t, struct treap_node *node, const void *key);
void treap_remove(struct treap *t, struct treap_node *node, const void *key); /* it is inside */

/* Returns the first node behind `key`, or, unless `behind`, the one that has it; NULL: none. */
struct treap_node *treap_find(const struct treap *t, const void *key, bool behind);
/* Returns the first of all; NULL: the set is empty. */
struct treap_node *treap_first(const struct treap *t);

#endif
