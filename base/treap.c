#include "base/treap.h"

#include <assert.h>
#include <stddef.h>

/* The nodes of a tree go to `before` and `behind` a key. */
static void split(const struct treap *t, struct treap_node *all, const void *key,
                  struct treap_node **before, struct treap_node **behind)
{
    while (all) {
        bool goes_behind = t->compare(key, all) < 0;
        struct treap_node ***to = goes_behind ? &behind : &before;
        struct treap_node **rest = goes_behind ? &all->left : &all->right;
        **to = all;
        *to = rest;
        all = *rest;
    }
    *before = *behind = NULL;
}

void treap_add(struct treap *t, struct treap_node *node, const void *key)
{
    struct treap_node **at = &t->root;
    while (*at && (*at)->weight >= node->weight)
        at = t->compare(key, *at) < 0 ? &(*at)->left : &(*at)->right;
    split(t, *at, key, &node->left, &node->right);
    *at = node;
    t->count++;
}

void treap_remove(struct treap *t, struct treap_node *node, const void *key)
{
    struct treap_node **at = &t->root, *left = node->left, *right = node->right;
    while (*at != node) {
        assert(*at);
        at = t->compare(key, *at) < 0 ? &(*at)->left : &(*at)->right;
    }
    while (left && right) {
        bool is_left = left->weight >= right->weight;
        struct treap_node **from = is_left ? &left : &right;
        struct treap_node **below = is_left ? &left->right : &right->left;
        *at = *from;
        *from = *below;
        at = below;
    }
    *at = left ? left : right;
    t->count--;
}

struct treap_node *treap_find(const struct treap *t, const void *key, bool behind)
{
    struct treap_node *found = NULL, *at = t->root;
    while (at) {
        int by = t->compare(key, at);
        if (by < 0 || (by == 0 && !behind)) {
            found = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return found;
}

struct treap_node *treap_first(const struct treap *t)
{
    struct treap_node *at = t->root;
    while (at && at->left)
        at = at->left;
    return at;
}
