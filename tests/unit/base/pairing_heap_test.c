/* The heap against an array that is searched. */
#include "base/pairing_heap.h"

#include <stddef.h>
#include <stdlib.h>

#include "tests/support/cmocka_env.h"
#include "tests/support/random.h"

enum { NODES = 300, STEPS = 100000 };

struct item {
    struct pairing_node node;
    uint64_t rank;
    bool inside;
};

static struct item items[NODES];

static struct item *item_of(const struct pairing_node *node)
{
    return (struct item *)(uintptr_t)node;
}

static bool before(const struct pairing_node *a, const struct pairing_node *b)
{
    const struct item *x = item_of(a), *y = item_of(b);
    return x->rank != y->rank ? x->rank < y->rank : x < y;
}

static struct item *least(void)
{
    struct item *first = NULL;
    for (int i = 0; i < NODES; i++)
        if (items[i].inside && (!first || before(&items[i].node, &first->node)))
            first = &items[i];
    return first;
}

static uint32_t count_before(const struct item *than)
{
    uint32_t n = 0;
    for (int i = 0; i < NODES; i++)
        n += items[i].inside && &items[i] != than && before(&items[i].node, &than->node);
    return n;
}

static uint32_t count_inside(void)
{
    uint32_t n = 0;
    for (int i = 0; i < NODES; i++)
        n += items[i].inside;
    return n;
}

static uint32_t count_walked(const struct pairing_heap *h)
{
    uint32_t n = 0;
    for (const struct pairing_node *at = h->root; at; at = pairing_next(at), n++)
        assert_true(item_of(at)->inside);
    return n;
}

TEST(agrees_with_a_search_through_all)
{
    struct pairing_heap h;
    uint64_t seed = 99;
    pairing_init(&h, before);
    for (int i = 0; i < STEPS; i++) {
        struct item *item = &items[chance(&seed, NODES)];
        if (item->inside && chance(&seed, 4) == 0)
            item = item_of(h.root);
        if (item->inside) {
            pairing_remove(&h, &item->node);
        } else {
            item->rank = chance(&seed, 50);
            pairing_add(&h, &item->node);
        }
        item->inside = !item->inside;
        assert_ptr_equal(h.root, least());
        if (i % 64 == 0) {
            item = &items[chance(&seed, NODES)];
            uint32_t wanted = count_before(item);
            uint32_t all = NODES, few = 7;
            assert_int_equal(pairing_before(&h, &item->node, &all), wanted);
            assert_in_range(NODES - all, wanted < NODES ? wanted : NODES, NODES);
            assert_true(pairing_before(&h, &item->node, &few) <= (wanted < 7 ? wanted : 7));
            assert_true(few == 0 || NODES - all <= 7);
            assert_int_equal(count_walked(&h), count_inside());
        }
    }
}
