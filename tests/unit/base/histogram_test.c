/* Histograms: which bucket a time is counted in, and what is read of it. */
#include "base/histogram.h"
#include "tests/support/cmocka_env.h"

TEST(each_bucket_holds_its_bound_and_nothing_above)
{
    for (unsigned i = 0; i < HISTOGRAM_LAST; i++) {
        uint64_t bound = histogram_bound(i);
        assert_int_equal(histogram_bucket(bound), i);
        assert_int_equal(histogram_bucket(bound + 1), i + 1);
    }
    assert_int_equal(histogram_bound(0), 1024);
    assert_int_equal(histogram_bound(1), 1536);
    assert_int_equal(histogram_bound(HISTOGRAM_LAST - 1), UINT64_C(1) << HISTOGRAM_MOST);
}

TEST(what_is_very_short_or_long_has_its_buckets)
{
    assert_int_equal(histogram_bucket(0), 0);
    assert_int_equal(histogram_bucket(1), 0);
    assert_int_equal(histogram_bucket(UINT64_MAX), HISTOGRAM_LAST);
    assert_int_equal(histogram_bound(HISTOGRAM_LAST), 0);
}

TEST(what_was_noted_is_read_and_added_up)
{
    struct histogram a = {0}, b = {0};
    struct histogram_sum sum = {0};

    histogram_note(&a, 1000, 16);
    histogram_note(&b, 5000, 1);
    histogram_read(&a, &sum);
    histogram_read(&b, &sum);
    assert_int_equal(histogram_count(&sum), 17);
    assert_int_equal(sum.sum_ns, 21000);
    assert_int_equal(sum.buckets[0], 16);
}

TEST(a_quantile_is_the_bound_of_the_bucket_that_reaches_it)
{
    struct histogram h = {0};
    struct histogram_sum sum = {0};

    assert_int_equal(histogram_quantile(&sum, 500), 0);
    histogram_note(&h, 1000, 98);
    histogram_note(&h, 1000000, 1);
    histogram_note(&h, UINT64_MAX / 4, 1);
    histogram_read(&h, &sum);
    assert_int_equal(histogram_quantile(&sum, 500), 1024);
    assert_int_equal(histogram_quantile(&sum, 990), 1048576);
    assert_int_equal(histogram_quantile(&sum, 1000), UINT64_C(1) << HISTOGRAM_MOST);
}
