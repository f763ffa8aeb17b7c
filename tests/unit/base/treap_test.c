/* The set against an array that is searched. */
#include "base/treap.h"

#include <stddef.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { KEYS = 300, STEPS = 100000, DEEP = 64 };

struct item {
    struct treap_node node; /* first */
    uint32_t key;
    bool inside;
};

static struct item items[KEYS];

static struct item *item_of(const struct treap_node *node)
{
    return (struct item *)(uintptr_t)node;
}

static int compare(const void *key, const struct treap_node *node)
{
    uint32_t a = *(const uint32_t *)key, b = item_of(node)->key;
    return a < b ? -1 : a > b;
}

static struct treap_node *searched(uint32_t from)
{
    while (from < KEYS && !items[from].inside)
        from++;
    return from < KEYS ? &items[from].node : NULL;
}

static void change(struct treap *t, struct item *item, uint64_t weight)
{
    if (item->inside) {
        treap_remove(t, &item->node, &item->key);
    } else {
        item->node.weight = weight;
        treap_add(t, &item->node, &item->key);
    }
    item->inside = !item->inside;
}

/* In order, and none is heavier than the one above it.  Returns how many there are. */
static uint32_t check(const struct treap_node *node, uint32_t from, uint32_t below, uint32_t depth)
{
    if (!node)
        return 0;
    uint32_t key = item_of(node)->key;
    assert_true(key >= from && key < below && item_of(node)->inside && depth < DEEP);
    assert_true(!node->left || node->left->weight <= node->weight);
    assert_true(!node->right || node->right->weight <= node->weight);
    return 1 + check(node->left, from, key, depth + 1) +
           check(node->right, key + 1, below, depth + 1);
}

static uint32_t count_inside(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        count += items[i].inside;
    return count;
}

TEST(it_finds_what_a_search_finds)
{
    struct treap t = {.compare = compare};
    uint64_t random = 5;
    for (uint32_t i = 0; i < KEYS; i++)
        items[i] = (struct item){.key = i};
    assert_null(treap_first(&t));
    for (uint32_t n = 0; n < STEPS; n++) {
        uint32_t key = chance(&random, KEYS);
        /* Some have the same weight. */
        change(&t, &items[chance(&random, KEYS)], chance(&random, 1000));
        assert_ptr_equal(treap_find(&t, &key, false), searched(key));
        assert_ptr_equal(treap_find(&t, &key, true), searched(key + 1));
        assert_ptr_equal(treap_first(&t), searched(0));
        if (n % 100 == 0)
            assert_int_equal(check(t.root, 0, KEYS, 0), count_inside());
        assert_int_equal(t.count, count_inside());
    }
}

TEST(keys_that_come_in_order_make_no_list)
{
    struct treap t = {.compare = compare};
    uint64_t random = 6;
    for (uint32_t i = 0; i < KEYS; i++) {
        items[i] = (struct item){.key = i};
        change(&t, &items[i], chance(&random, UINT32_MAX));
    }
    assert_int_equal(check(t.root, 0, KEYS, 0), KEYS);
}
