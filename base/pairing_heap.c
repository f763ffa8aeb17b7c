#include "base/pairing_heap.h"

#include <assert.h>
#include <stddef.h>

/* Two roots become one; NULL is an empty heap. */
static struct pairing_node *meld(const struct pairing_heap *h, struct pairing_node *a,
                                 struct pairing_node *b)
{
    if (!a || !b)
        return a ? a : b;
    if (h->before(b, a)) {
        struct pairing_node *other = a;
        a = b;
        b = other;
    }
    b->prev = a;
    b->next = a->child;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    return a;
}

/* Siblings become one heap: in pairs from the left, and then the pairs from the right.  The pairs
 * are kept meanwhile as a stack through `prev`. */
static struct pairing_node *meld_all(const struct pairing_heap *h, struct pairing_node *first)
{
    struct pairing_node *pairs = NULL, *all = NULL;
    while (first) {
        struct pairing_node *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = NULL;
        if (b)
            b->next = NULL;
        struct pairing_node *pair = meld(h, a, b);
        pair->prev = pairs;
        pairs = pair;
    }
    while (pairs) {
        struct pairing_node *pair = pairs;
        pairs = pair->prev;
        pair->prev = NULL;
        all = meld(h, all, pair);
    }
    return all;
}

void pairing_add(struct pairing_heap *h, struct pairing_node *node)
{
    *node = (struct pairing_node){0};
    h->root = meld(h, h->root, node);
    h->root->prev = h->root->next = NULL;
}

static void cut(struct pairing_node *node)
{
    *(node->prev->child == node ? &node->prev->child : &node->prev->next) = node->next;
    if (node->next)
        node->next->prev = node->prev;
}

void pairing_remove(struct pairing_heap *h, struct pairing_node *node)
{
    struct pairing_node *rest = meld_all(h, node->child);
    if (node == h->root) {
        h->root = rest;
    } else {
        assert(node->prev);
        cut(node);
        h->root = meld(h, h->root, rest);
    }
    if (h->root)
        h->root->prev = h->root->next = NULL;
    *node = (struct pairing_node){0};
}

/* The next sibling, or that of the nearest ancestor that has one. */
static struct pairing_node *beside(const struct pairing_node *node)
{
    while (!node->next) {
        while (node->prev && node->prev->child != node)
            node = node->prev;
        if (!node->prev)
            return NULL;
        node = node->prev;
    }
    return node->next;
}

struct pairing_node *pairing_next(const struct pairing_node *node)
{
    return node->child ? node->child : beside(node);
}

uint32_t pairing_before(const struct pairing_heap *h, const struct pairing_node *than,
                        uint32_t *looks)
{
    uint32_t count = 0;
    const struct pairing_node *node = h->root;
    for (; node && *looks > 0; --*looks) {
        bool before = node != than && h->before(node, than);
        count += before;
        node = before ? pairing_next(node) : beside(node);
    }
    return count;
}
