/* The longest of many times, in all and of the last minute. */
#include "base/longest.h"
#include "tests/support/cmocka_env.h"

static const uint64_t second = 1000000000;

TEST(nothing_has_no_longest)
{
    struct longest l = {0};
    assert_int_equal(longest_ever(&l), 0);
    assert_int_equal(longest_lately(&l, 0), 0);
    assert_int_equal(longest_lately(&l, 1000 * second), 0);
}

TEST(the_longest_is_kept_whatever_follows)
{
    struct longest l = {0};
    longest_note(&l, 5, 300);
    longest_note(&l, 6, 200);
    longest_note(&l, second, 299);
    assert_int_equal(longest_ever(&l), 300);
    assert_int_equal(longest_lately(&l, second), 300);
}

TEST(a_minute_later_it_is_of_lately_no_more)
{
    struct longest l = {0};
    longest_note(&l, 9 * second, 300);
    longest_note(&l, 25 * second, 100);
    assert_int_equal(longest_lately(&l, 69 * second), 300);
    assert_int_equal(longest_lately(&l, 70 * second), 100);
    assert_int_equal(longest_lately(&l, 89 * second), 100);
    assert_int_equal(longest_lately(&l, 90 * second), 0);
    assert_int_equal(longest_ever(&l), 300);
}

TEST(a_slot_that_is_written_again_forgets)
{
    struct longest l = {0};
    for (uint64_t i = 0; i < 3 * LONGEST_SLOTS; i++) {
        longest_note(&l, i * 10 * second, 1000 - i);
        assert_int_equal(longest_lately(&l, i * 10 * second),
                         i < LONGEST_SLOTS ? 1000 : 1000 - (i - (LONGEST_SLOTS - 1)));
    }
    assert_int_equal(longest_ever(&l), 1000);
}

TEST(after_a_long_rest_nothing_old_is_of_lately)
{
    struct longest l = {0};
    longest_note(&l, 0, 300);
    longest_note(&l, (uint64_t)LONGEST_SLOTS * 10 * second, 7); /* the same slot */
    assert_int_equal(longest_lately(&l, (uint64_t)LONGEST_SLOTS * 10 * second), 7);
}

TEST(what_takes_an_hour_is_as_long_as_a_slot_can_say)
{
    struct longest l = {0};
    longest_note(&l, 3600 * second, 3600 * second);
    assert_int_equal(longest_ever(&l), 3600 * second);
    assert_int_equal(longest_lately(&l, 3600 * second), (UINT64_C(1) << 40) - 1);
}

TEST(only_what_changes_something_is_wanted)
{
    struct longest l = {0};
    longest_note(&l, 0, 300);
    assert_false(longest_wants(&l, 1, 300));
    assert_true(longest_wants(&l, 1, 301));
    assert_true(longest_wants(&l, 10 * second, 0)); /* a slot begins */
}
