#include "server/net/accept/penalties.h"

#include "tests/support/cmocka_env.h"
#include "tests/support/heap.h"

enum { ALICE = 1, MALLORY = 2 };

static struct penalty_table table;

static int open_table(void **state)
{
    (void)state;
    table = (struct penalty_table){.seed = {1, 2}};
    penalties_init(&table, AO_S(15));
    return 0;
}

static int close_table(void **state)
{
    (void)state;
    penalties_fini(&table);
    return 0;
}

#define TABLE_TEST(name) TEST_WITH(open_table, close_table, name)

TABLE_TEST(a_mistake_costs_nothing_and_who_guesses_is_kept_out)
{
    assert_false(penalties_add(&table, MALLORY, AO_S(5), AO_S(1)));
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(1)), 0);
    assert_false(penalties_add(&table, MALLORY, AO_S(5), AO_S(1)));
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(1)), 0);
    assert_true(penalties_add(&table, MALLORY, AO_S(5), AO_S(1)));
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(1)), AO_S(15));
    assert_int_equal(penalties_left(&table, ALICE, AO_S(1)), 0);
}

TABLE_TEST(it_is_kept_out_until_all_has_passed)
{
    for (int i = 0; i < 3; i++)
        penalties_add(&table, MALLORY, AO_S(5), AO_S(1));
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(15)), AO_S(1));
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(16)), 0);
    assert_false(penalties_add(&table, MALLORY, AO_S(5), AO_S(16))); /* and begins anew */
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(16)), 0);
}

TABLE_TEST(what_lies_far_apart_does_not_add_up)
{
    for (uint64_t i = 0; i < 20; i++)
        assert_false(penalties_add(&table, MALLORY, AO_S(5), AO_S(6 * i)));
}

TABLE_TEST(it_is_told_once_and_has_an_end)
{
    int told = 0;
    for (int i = 0; i < 1000; i++)
        told += penalties_add(&table, MALLORY, AO_S(5), AO_S(1));
    assert_int_equal(told, 1);
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(1)), PENALTY_MAX);
}

TABLE_TEST(the_table_is_bounded_and_forgets)
{
    for (uint64_t key = 0; key < PENALTY_ADDRESSES_MAX + 1000; key++)
        penalties_add(&table, key, AO_S(20), AO_S(1));
    assert_int_equal(table.penalties.count, PENALTY_ADDRESSES_MAX);
    for (uint64_t key = 0; key < PENALTY_ADDRESSES_MAX; key++)
        penalties_add(&table, MALLORY, AO_S(1), AO_S(100 + key));
    assert_true(table.penalties.count <= 2);
}

/* It is kept out by what it does later, when there is some. */
TABLE_TEST(without_memory_nobody_is_noted)
{
    heap_fail_at(1);
    assert_false(penalties_add(&table, MALLORY, AO_S(20), AO_S(1)));
    assert_true(heap_failed());
    heap_fail_at(0);
    assert_int_equal(penalties_left(&table, MALLORY, AO_S(1)), 0);
    assert_true(penalties_add(&table, MALLORY, AO_S(20), AO_S(1)));
}
