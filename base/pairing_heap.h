/* A heap of nodes that stand in what it orders (pairing heap: Fredman, Sedgewick, Sleator, Tarjan
 * 1986).  Adding is O(1), removing any node O(log n) amortised; no memory is taken, so nothing here
 * fails, and nothing recurses.  One thread. */
#ifndef ERGON_BASE_PAIRING_HEAP_H
#define ERGON_BASE_PAIRING_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* The caller's memory, from pairing_add() to pairing_remove(); it does not move meanwhile. */
struct pairing_node {
    struct pairing_node *child; /* the first */
    struct pairing_node *next;  /* sibling */
    struct pairing_node *prev;  /* sibling; of a first child its parent; NULL: the root */
};

struct pairing_heap {
    struct pairing_node *root; /* the first of all; NULL: empty */
    /* Does `a` go before `b`?  A total order, which stands still while both are inside. */
    bool (*before)(const struct pairing_node *a, const struct pairing_node *b);
};

static inline void pairing_init(struct pairing_heap *h,
                                bool (*before)(const struct pairing_node *a,
                                               const struct pairing_node *b))
{
    h->root = 0;
    h->before = before;
}

void pairing_add(struct pairing_heap *h, struct pairing_node *node);
void pairing_remove(struct pairing_heap *h, struct pairing_node *node); /* it is in this heap */

/* How many go before the node `than`, which need not be inside.  Looks at these and their children
 * alone, which may be many more: takes one off `looks` for each, and stops when none is left. */
uint32_t pairing_before(const struct pairing_heap *h, const struct pairing_node *than,
                        uint32_t *looks);

/* The node behind `node`, in no order but each once, from the root on; NULL: it was the last. */
struct pairing_node *pairing_next(const struct pairing_node *node);

#endif
