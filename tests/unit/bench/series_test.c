/* A load by the second. */
#include "tests/support/cmocka_env.h"

#include "client/bench/series.h"

static const uint64_t S = 1000000000;

TEST(what_happened_stands_in_its_second)
{
    struct series s = {.wanted = true};
    series_note_sent(&s, 0);
    series_note_sent(&s, 2 * S - 1);
    series_note_answer(&s, 2 * S, 5000, true);
    series_note_answer(&s, 2 * S + 1, 9000, false);
    assert_int_equal(s.count, 3);
    assert_int_equal(s.seconds[0].sent, 1);
    assert_int_equal(s.seconds[1].sent, 1);
    assert_int_equal(s.seconds[2].sent, 0);
    assert_int_equal(s.seconds[2].good, 1);
    assert_int_equal(s.seconds[2].failed, 1);
    assert_int_equal(s.seconds[2].max_ns, 5000);
    assert_int_equal(series_percentile(&s.seconds[0], 99), 0);
    series_fini(&s);
}

TEST(percentiles_are_exact_to_three_percent)
{
    struct series s = {.wanted = true};
    for (uint64_t i = 1; i <= 1000; i++)
        series_note_answer(&s, 0, i * 1000000, true);
    for (uint64_t p = 10; p <= 100; p += 10)
        assert_in_range(series_percentile(&s.seconds[0], (double)p), p * 10000000,
                        p * 10000000 * 103 / 100);
    assert_int_equal(series_percentile(&s.seconds[0], 100), S);
    series_fini(&s);
}

TEST(threads_are_added_up)
{
    struct series all = {0}, one = {.wanted = true}, other = {.wanted = true};
    series_note_answer(&one, 0, 100, true);
    series_note_answer(&other, 0, 300, true);
    series_note_sent(&other, 3 * S);
    series_merge(&all, &one);
    series_merge(&all, &other);
    assert_int_equal(all.count, 4);
    assert_int_equal(all.seconds[0].good, 2);
    assert_int_equal(all.seconds[0].max_ns, 300);
    assert_int_equal(series_percentile(&all.seconds[0], 50), 127); /* the cell that 100 stands in */
    assert_int_equal(all.seconds[3].sent, 1);
    series_fini(&all);
    series_fini(&one);
    series_fini(&other);
}

TEST(nothing_is_kept_that_nobody_wants)
{
    struct series s = {0};
    series_note_sent(&s, 0);
    assert_int_equal(s.count, 0);
    assert_false(s.cut);
    s.wanted = true;
    series_note_sent(&s, UINT64_MAX);
    assert_int_equal(s.count, 0);
    assert_true(s.cut);
    series_fini(&s);
}
