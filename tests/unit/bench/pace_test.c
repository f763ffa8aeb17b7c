/* The schedule of an open loop, on a virtual clock. */
#include "client/bench/pace.h"
#include "tests/support/cmocka_env.h"

static const uint64_t SECOND = 1000000000;

static uint64_t taken_until(struct pace *p, uint64_t end_ns)
{
    return pace_skip(p, 0, end_ns);
}

TEST(fixed_times_have_equal_distances)
{
    struct pace p;
    struct pace_part part = {PACE_FIXED, 3, 0, 1, 0};
    pace_init(&p, &part, 1000);
    assert_int_equal(pace_next(&p), 1000);
    pace_take(&p);
    assert_int_equal(pace_next(&p), 1000 + SECOND / 3);
    assert_int_equal(pace_next(&p), 1000 + SECOND / 3); /* until it is taken */
    for (int i = 1; i < 3000; i++)
        pace_take(&p);
    assert_in_range(pace_next(&p), 1000 + 1000 * SECOND - 1, 1000 + 1000 * SECOND + 1);
}

TEST(fixed_parts_interleave)
{
    struct pace parts[4];
    for (uint32_t i = 0; i < 4; i++) {
        struct pace_part part = {PACE_FIXED, 1000, i, 4, 0};
        pace_init(&parts[i], &part, 0);
    }
    for (uint64_t i = 0; i < 400; i++) {
        assert_in_range(pace_next(&parts[i % 4]), i * 1000000 - (i > 0), i * 1000000 + 1);
        pace_take(&parts[i % 4]);
    }
}

/* The count of a second is Poisson too: its deviation is the root of its mean. */
TEST(poisson_parts_sum_up_to_the_rate)
{
    enum { THREADS = 3, RATE = 10000, SECONDS = 20 };
    uint64_t counts[SECONDS] = {0};
    uint64_t total = 0;
    double squares = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        struct pace p;
        struct pace_part part = {PACE_POISSON, RATE, i, THREADS, 0};
        pace_init(&p, &part, 5 * SECOND);
        for (uint64_t s = 0; s < SECONDS; s++)
            counts[s] += taken_until(&p, (6 + s) * SECOND);
    }
    for (int s = 0; s < SECONDS; s++) {
        total += counts[s];
        squares += ((double)counts[s] - RATE) * ((double)counts[s] - RATE);
    }
    assert_in_range(total, RATE * SECONDS - 2000, RATE * SECONDS + 2000); /* 4.5 deviations */
    assert_true(squares / SECONDS > RATE * 0.3 && squares / SECONDS < RATE * 2.5);
}

TEST(poisson_distances_are_exponential)
{
    struct pace p;
    struct pace_part part = {PACE_POISSON, 1000, 0, 1, 0};
    uint64_t last = 0;
    int above = 0;
    pace_init(&p, &part, 0);
    for (int i = 0; i < 10000; i++) {
        assert_true(pace_next(&p) >= last);
        above += pace_next(&p) - last > 1000000;
        last = pace_next(&p);
        pace_take(&p);
    }
    assert_in_range(above, 3679 - 200, 3679 + 200); /* 1 in e is longer than the mean */
}

TEST(another_start_has_other_arrivals)
{
    struct pace first, second;
    struct pace_part part = {PACE_POISSON, 1000, 0, 1, 0};
    pace_init(&first, &part, 0);
    part.start++;
    pace_init(&second, &part, 0);
    assert_int_not_equal(pace_next(&first), pace_next(&second));
}

TEST(what_is_due_is_counted_from_the_begin_on)
{
    struct pace p;
    struct pace_part part = {PACE_FIXED, 10, 0, 1, 0};
    pace_init(&p, &part, 0);
    assert_int_equal(pace_skip(&p, SECOND, 3 * SECOND), 20);
    assert_int_equal(pace_skip(&p, SECOND, 3 * SECOND), 0);
    assert_true(pace_next(&p) >= 3 * SECOND);
}

/* A server that stands still for a second: the schedule does not wait for it, and each request
 * counts from its own intended time. */
TEST(a_pause_of_the_server_omits_nothing)
{
    struct pace p;
    struct pace_part part = {PACE_FIXED, 100, 0, 1, 0};
    uint64_t sum = 0;
    int late = 0;
    pace_init(&p, &part, 0);
    for (; pace_next(&p) < SECOND; pace_take(&p)) {
        sum += SECOND - pace_next(&p);
        assert_int_equal(pace_lag(pace_next(&p), SECOND, SECOND), 0); /* no fault of ours */
        late++;
    }
    assert_int_equal(late, 100);
    assert_in_range(sum / 100, SECOND / 2, SECOND / 2 + SECOND / 100);
}

TEST(lag_is_what_the_generator_added)
{
    assert_int_equal(pace_lag(100, 0, 130), 30);
    assert_int_equal(pace_lag(100, 120, 130), 10);
    assert_int_equal(pace_lag(100, 50, 100), 0);
    assert_int_equal(pace_lag(100, 0, 90), 0);
}
